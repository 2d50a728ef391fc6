# Run by cpack when the files of every component lie in a folder of its own, before packages are made of them.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component ${CPACK_COMPONENTS_ALL})
    set(root "${CPACK_TEMPORARY_DIRECTORY}/${component}")
    if(NOT IS_DIRECTORY "${root}/usr")
        message(FATAL_ERROR "no files of the component ${component} in ${root}")
    endif()
    set(package ${CPACK_GPUSOLVE_PACKAGE_${component}})
    set(folder "${root}/usr/share/doc/${package}")

    file(WRITE "${folder}/copyright" "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: gpusolve

Files: *
Copyright: 2026 The gpusolve developers
License: Apache-2.0
 On Debian systems the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
    file(WRITE "${folder}/changelog" "gpusolve (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Made by cpack; CHANGELOG.md of the source says what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    if(component STREQUAL "runtime")
        # cpack makes scripts that call ldconfig, beside the trigger; they do no harm.
        file(WRITE "${root}/usr/share/lintian/overrides/${package}" "${package}: maintscript-calls-ldconfig [postinst]\n"
            "${package}: maintscript-calls-ldconfig [postrm]\n")
    endif()
    file(GLOB_RECURSE compressed "${root}/usr/share/man/*.[1-8]")
    foreach(file "${folder}/changelog" ${compressed})
        execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()

    # The loader finds the library in Debian's folder by itself.
    file(GLOB programs "${root}/usr/bin/*")
    foreach(program ${programs})
        file(RPATH_REMOVE FILE "${program}")
    endforeach()
    file(GLOB_RECURSE archives "${root}/usr/lib/*.a")
    foreach(archive ${archives})
        execute_process(COMMAND "${CPACK_GPUSOLVE_STRIP}" --strip-unneeded --remove-section=.comment "${archive}"
            COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    # A library to preload is no library to link with: Debian keeps such in a folder of the package's own.
    file(GLOB_RECURSE preloads "${root}/usr/lib/libgpusolve_preload.so")
    foreach(preload ${preloads})
        get_filename_component(place "${preload}" DIRECTORY)
        file(MAKE_DIRECTORY "${place}/gpusolve")
        file(RENAME "${preload}" "${place}/gpusolve/libgpusolve_preload.so")
        file(CHMOD "${place}/gpusolve" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
            WORLD_EXECUTE)
    endforeach()
    file(GLOB_RECURSE libraries LIST_DIRECTORIES false "${root}/usr/lib/*.so*")
    foreach(library ${libraries})
        if(NOT IS_SYMLINK "${library}")
            file(CHMOD "${library}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
        endif()
    endforeach()
    file(CHMOD_RECURSE "${root}/usr/share" FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
        DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
