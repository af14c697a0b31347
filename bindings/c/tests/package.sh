#!/usr/bin/env bash
# Installs the C package into a folder, and builds the example against it by CMake and by pkg-config.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in cmake pkg-config; do
    command -v "$tool" >/dev/null || { echo "$tool is not there"; exit 77; }
done
prefix=$(mktemp -d)
trap 'rm -r "$prefix"' EXIT
make --silent install PREFIX="$prefix"
mkdir "$prefix/consumer"
cp examples/hello_agent.c "$prefix/consumer"
cat >"$prefix/consumer/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(ranlab REQUIRED)
add_executable(hello_agent hello_agent.c)
target_link_libraries(hello_agent ranlab::ranlab)
add_executable(hello_shared hello_agent.c)
target_link_libraries(hello_shared ranlab::shared)
C
cmake -S "$prefix/consumer" -B "$prefix/build" -DCMAKE_PREFIX_PATH="$prefix" >"$prefix/cmake.log" || { cat "$prefix/cmake.log"; exit 1; }
cmake --build "$prefix/build" >"$prefix/cmake.log" || { cat "$prefix/cmake.log"; exit 1; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046 # words are meant
cc "$prefix/consumer/hello_agent.c" $(pkg-config --cflags --libs ranlab) -o "$prefix/by_pkg_config"
for program in "$prefix/build/hello_agent" "$prefix/build/hello_shared" "$prefix/by_pkg_config"; do
    # Nobody listens there: it tries again until its time is over.
    LD_LIBRARY_PATH=$prefix/lib "$program" 127.0.0.1 1 1 2>"$prefix/said" && grep -q 'hello_agent: ok' "$prefix/said"
done
echo "CMake (static and shared) and pkg-config build and run"
