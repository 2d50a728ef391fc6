# Sourced by tests/run, bench/demo and .ci/run: sees to the packages, configures and builds. Needs bash.
#   gpusolve_install PACKAGE...                install those that are missing, or say what is
#   gpusolve_packages [PACKAGE...]             the same with what builds and tests need
#   gpusolve_configure FOLDER [OPTION...]      with these CMake options; quiet unless it fails
#   gpusolve_build FOLDER [TARGET...]
#   gpusolve_venv FOLDER                       Python's virtual environment there, with what the Python package's tests need
# gpusolve_root is the source tree; gpusolve_build_dir is where to build: $GPUSOLVE_BUILD_DIR, else build/ in the source tree.

gpusolve_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
gpusolve_build_dir=${GPUSOLVE_BUILD_DIR:-$gpusolve_root/build}
case $gpusolve_build_dir in
/*) ;;
*) gpusolve_build_dir=$PWD/$gpusolve_build_dir ;;
esac

gpusolve_packages() {
    gpusolve_install gcc g++ cmake ninja-build pkg-config python3 libsuitesparse-dev libmetis-dev libopenblas-dev zlib1g-dev "$@"
}

gpusolve_install() {
    local wanted=$* package missing=
    if ! command -v dpkg-query >/dev/null; then
        echo "setup: not a Debian system, so packages are not looked after; needed are what Debian calls: $wanted" >&2
        return 0
    fi
    for package in $wanted; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        echo "setup: these packages are missing; as root: apt-get install$missing" >&2
        return 1
    fi
    echo "setup: installing$missing" >&2
    # The lists may be absent or out of date on a fresh machine.
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
        { echo "setup: apt-get failed; these packages are missing:$missing" >&2; return 1; }
}

gpusolve_configure() {
    local folder=$1 generator= log
    shift
    if ! mkdir -p "$folder" 2>/dev/null || [ ! -w "$folder" ]; then
        echo "setup: cannot write to $folder; name another folder to build in: GPUSOLVE_BUILD_DIR=FOLDER" >&2
        return 1
    fi
    [ -f "$folder/CMakeCache.txt" ] || { command -v ninja >/dev/null && generator=-GNinja; }
    log=$(cmake -S "$gpusolve_root" -B "$folder" $generator "$@" 2>&1) || { echo "$log"; return 1; }
    grep -E 'CUDA backend|gpusolve-(bench|solve):' <<<"$log" || true # a configured folder may have nothing to say
}

gpusolve_build() {
    local folder=$1
    shift
    cmake --build "$folder" --parallel "$(nproc)" ${1:+--target "$@"}
}

# Makes it once; false where it cannot be made, with the reason in FOLDER.log.
gpusolve_venv() {
    local folder=$1
    [ -f "$folder/is-complete" ] && return 0
    rm -rf "$folder"
    {
        python3 -m venv "$folder" &&
            "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
                'numpy>=1.24' 'scipy>=1.10' 'nanobind>=3.1' nanobind-backend pytest hypothesis
    } >"$folder.log" 2>&1 || return
    # Without these, tests of the examples and tests beside scikit-sparse, which is compiled here, are skipped.
    # scikit-sparse's own tests use pkg_resources, which setuptools had up to 80.
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check matplotlib >>"$folder.log" 2>&1 || true
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check 'scikit-sparse<0.5' 'setuptools<81' >>"$folder.log" 2>&1 || true
    touch "$folder/is-complete"
}
