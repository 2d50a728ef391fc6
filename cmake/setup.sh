# Sourced by tests/run, bench/demo and .ci/run: sees to the packages, configures and builds. Needs bash.
#   gpusolve_packages                          install what is missing, or say what is
#   gpusolve_configure FOLDER [OPTION...]      with these CMake options; quiet unless it fails
#   gpusolve_build FOLDER [TARGET]

gpusolve_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

gpusolve_packages() {
    local wanted="gcc g++ cmake ninja-build pkg-config python3 libsuitesparse-dev libmetis-dev libopenblas-dev zlib1g-dev"
    local package missing=
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
    [ -f "$folder/CMakeCache.txt" ] || { command -v ninja >/dev/null && generator=-GNinja; }
    log=$(cmake -S "$gpusolve_root" -B "$folder" $generator "$@" 2>&1) || { echo "$log"; return 1; }
    grep 'CUDA backend' <<<"$log" || true # a configured folder may have nothing to say
}

gpusolve_build() {
    cmake --build "$1" --parallel "$(nproc)" ${2:+--target "$2"}
}
