# Run by the target "bundle", with FOLDER, PROGRAMS, SCRIPTS, MATRICES, STRIP and SOURCE.
file(REMOVE_RECURSE "${FOLDER}" "${FOLDER}.tar.gz")
file(COPY ${PROGRAMS} ${SCRIPTS} DESTINATION "${FOLDER}")
# What run-gpu-tests writes into its record.
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
    set(revision "no revision")
endif()
file(WRITE "${FOLDER}/revision" "${revision}\n")

if(MATRICES)
    file(COPY ${MATRICES} DESTINATION "${FOLDER}/matrices")
endif()

# All libraries but glibc's own, the driver's, and cuBLAS, which is half a gigabyte and comes with the toolkit; nor
# those of the C++ runtime, which cuBLAS brings along, perhaps in a later version that must not be hidden.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS}
    RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread)\\.so" "^ld-linux" "^libcuda\\.so" "^libcublas(Lt)?\\.so"
        "^lib(stdc\\+\\+|gcc_s)\\.so")
if(missing)
    message(FATAL_ERROR "libraries not found: ${missing}")
endif()
file(MAKE_DIRECTORY "${FOLDER}/lib")
foreach(library ${libraries})
    get_filename_component(name "${library}" NAME)
    file(COPY_FILE "${library}" "${FOLDER}/lib/${name}")
endforeach()

file(GLOB binaries "${FOLDER}/gpusolve-*" "${FOLDER}/lib/*")
execute_process(COMMAND "${STRIP}" ${binaries} COMMAND_ERROR_IS_FATAL ANY)

get_filename_component(parent "${FOLDER}" DIRECTORY)
get_filename_component(name "${FOLDER}" NAME)
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${name}.tar.gz" "${name}"
    WORKING_DIRECTORY "${parent}" COMMAND_ERROR_IS_FATAL ANY)
file(SIZE "${FOLDER}.tar.gz" bytes)
math(EXPR tenths "${bytes} / 100000")
string(REGEX REPLACE "(.)$" ".\\1" megabytes "${tenths}")
message(STATUS "${FOLDER}.tar.gz: ${megabytes} MB")
