#!/usr/bin/env bash
# Installs the C package into a folder, and builds the examples with it, using CMake and pkg-config.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in cmake pkg-config; do
    command -v "$tool" >/dev/null || { echo "$tool is not there"; exit 77; }
done
prefix=$(mktemp -d)
trap 'rm -r "$prefix"' EXIT
make --silent install PREFIX="$prefix"
mkdir "$prefix/consumer"
cp examples/hello_*.c "$prefix/consumer"
cat >"$prefix/consumer/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(ranlab REQUIRED)
add_executable(hello_agent hello_agent.c)
target_link_libraries(hello_agent ranlab::ranlab)
add_executable(hello_shared hello_agent.c)
target_link_libraries(hello_shared ranlab::shared)
foreach(name hello_ric hello_xapp)
    add_executable(${name} ${name}.c)
    target_link_libraries(${name} ranlab::shared)
endforeach()
C
cmake -S "$prefix/consumer" -B "$prefix/build" -DCMAKE_PREFIX_PATH="$prefix" >"$prefix/cmake.log" || { cat "$prefix/cmake.log"; exit 1; }
cmake --build "$prefix/build" >"$prefix/cmake.log" || { cat "$prefix/cmake.log"; exit 1; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046 # word splitting is intended
cc "$prefix/consumer/hello_agent.c" $(pkg-config --cflags --libs ranlab) -o "$prefix/by_pkg_config"
for program in "$prefix/build/hello_agent" "$prefix/build/hello_shared" "$prefix/by_pkg_config"; do
    # There is no listener: the agent keeps trying until its time is over.
    LD_LIBRARY_PATH=$prefix/lib "$program" 127.0.0.1 1 1 2>"$prefix/said" && grep -q 'hello_agent: ok' "$prefix/said"
done
# Unused ports for the RIC and the xApp.
read -r e2 e42 < <(python3 -c 'import socket; s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]; ports = [x.getsockname()[1] for x in s]; [x.close() for x in s]; print(*ports)')
export LD_LIBRARY_PATH=$prefix/lib
"$prefix/build/hello_ric" "$e2" "$e42" 3 >/dev/null 2>"$prefix/said_ric" & ric=$!
"$prefix/build/hello_xapp" 127.0.0.1 "$e42" 2 >/dev/null 2>"$prefix/said"
wait "$ric"
grep -q 'hello_xapp: ok' "$prefix/said" && grep -q 'hello_ric: ok' "$prefix/said_ric"
echo "CMake (static and shared) and pkg-config build and run"
