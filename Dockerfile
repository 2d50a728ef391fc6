# gpusolve's packages, installed: docker build -t gpusolve .
# For the GPU: docker build --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 -t gpusolve-cuda .
# tests/fresh runs the commands of the first stage in a Debian 12 root.
ARG BASE=debian:bookworm

FROM ${BASE} AS build
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ cmake ninja-build pkg-config dpkg-dev file gzip \
        libsuitesparse-dev zlib1g-dev
COPY . /gpusolve
WORKDIR /gpusolve
RUN cmake -G Ninja -S . -B build-deb -DCMAKE_INSTALL_PREFIX=/usr -DGPUSOLVE_BUILD_TESTS=OFF -DGPUSOLVE_BUILD_BENCH=OFF && \
    cmake --build build-deb && \
    cpack -G DEB --config build-deb/CPackConfig.cmake -B build-deb

FROM ${BASE}
ENV DEBIAN_FRONTEND=noninteractive
COPY --from=build /gpusolve/build-deb/*.deb /packages/
COPY examples /gpusolve/examples
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make pkg-config libsuitesparse-dev libopenblas0 \
        /packages/*.deb && rm -rf /var/lib/apt/lists/* /packages
WORKDIR /gpusolve/examples
CMD ["gpusolve-solve", "--help"]
