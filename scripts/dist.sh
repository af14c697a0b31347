#!/usr/bin/env bash
# Release artifacts in target/dist, with a file of checksums: static binaries in an archive, Debian packages, the Python
# wheel, the C library and a list of all dependencies (CycloneDX), per architecture. They are built by zig's C compiler,
# so that they do not depend on this machine's libraries: programs link musl, the wheel and the C library need glibc 2.17.
#
# ARCHES: architectures (default "x86_64 aarch64"). PARTS: what to build (default "programs wheel c sbom").
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
read -ra arches <<<"${ARCHES:-x86_64 aarch64}"
parts=" ${PARTS:-programs wheel c sbom} "
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Files carry the time of the commit, so that the same commit gives the same archive.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH CARGO_TARGET_DIR=$root/target CARGO_INCREMENTAL=0
export PATH=$root/.venv/bin:$PATH
dist=$root/target/dist
glibc=2.17
step() { printf '\n== %s\n' "$*"; }
wants() { [[ $parts == *" $1 "* ]]; }
# archive FOLDER: packs target/dist/FOLDER and removes it.
archive() {
    tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --directory "$dist" --file "$dist/$1.tar.gz" "$1"
    rm -r "${dist:?}/$1"
}

rm -rf "$dist"
mkdir -p "$dist/man" "$dist/completions"

# The two programs as an archive and as Debian packages.
programs() {
    local arch=$1 target=$1-unknown-linux-musl out=$root/target/$1-unknown-linux-musl/release
    step "programs for $arch"
    cargo zigbuild --quiet --release --locked --target "$target" -p ranlab
    cargo zigbuild --quiet --release --locked --target "$target" -p ranlab-e2-lab --features lean,tls --bin ranlab-ric
    # Manual pages and completions are the same for all architectures; they need a program that runs here.
    if [[ -z $(ls "$dist/man") ]]; then
        local here=$out/ranlab
        "$here" --version >/dev/null 2>&1 || { cargo build --quiet -p ranlab && here=$root/target/debug/ranlab; }
        "$here" man "$dist/man" >/dev/null
        "$here" completions bash >"$dist/completions/ranlab"
        "$here" completions zsh >"$dist/completions/_ranlab"
        "$here" completions fish >"$dist/completions/ranlab.fish"
        gzip --no-name --best "$dist"/man/*
    fi
    local name=ranlab-$version-$arch-linux
    mkdir -p "$dist/$name/bin" "$dist/$name/share/man/man1"
    cp "$out/ranlab" "$out/ranlab-ric" "$dist/$name/bin/"
    cp "$dist"/man/* "$dist/$name/share/man/man1/"
    cp -r "$dist/completions" packaging/systemd packaging/prometheus scenarios "$dist/$name/share/"
    cp README.md CHANGELOG.md LICENSE "$dist/$name/"
    archive "$name"
    cargo deb --quiet --no-build --no-strip --target "$target" --package ranlab --output "$dist"
    cargo deb --quiet --no-build --no-strip --target "$target" --package ranlab-e2-lab --output "$dist"
}

# The Python package, for CPython 3.9 and later.
wheel() {
    step "wheel for $1"
    maturin build --quiet --profile wheel --zig --target "$1-unknown-linux-gnu" --compatibility manylinux_${glibc/./_} \
        --manifest-path bindings/python/Cargo.toml --out "$dist"
}

# The C library with headers, pkg-config and CMake files; both find it wherever the archive is unpacked.
c_library() {
    local out=$root/target/$1-unknown-linux-gnu/release name=ranlab-c-$version-$1-linux file
    step "C library for $1"
    cargo zigbuild --quiet --release --locked --target "$1-unknown-linux-gnu.$glibc" -p ranlab-c
    mkdir -p "$dist/$name"/{include,lib/pkgconfig,lib/cmake/ranlab}
    cp bindings/c/include/*.h "$dist/$name/include/"
    cp "$out/libranlab_c.a" "$out/libranlab_c.so" "$dist/$name/lib/"
    # shellcheck disable=SC2016 # variables of pkg-config and CMake
    sed 's|@PREFIX@|${pcfiledir}/../..|; s|@VERSION@|'"$version"'|' bindings/c/ranlab.pc.in >"$dist/$name/lib/pkgconfig/ranlab.pc"
    # shellcheck disable=SC2016
    sed 's|@PREFIX@|${CMAKE_CURRENT_LIST_DIR}/../../..|; s|@VERSION@|'"$version"'|' bindings/c/ranlab-config.cmake.in \
        >"$dist/$name/lib/cmake/ranlab/ranlab-config.cmake"
    cp LICENSE "$dist/$name/"
    archive "$name"
}

# Every dependency of the program with version, licence and checksum.
sbom() {
    step 'list of dependencies'
    cargo cyclonedx --quiet --format json --manifest-path crates/cli/Cargo.toml --override-filename ranlab
    mv crates/cli/ranlab.json "$dist/ranlab-$version.cdx.json"
    find crates bindings examples benches -name ranlab.json -newer Cargo.toml -delete
}

for arch in "${arches[@]}"; do
    ! wants programs || programs "$arch"
    ! wants wheel || wheel "$arch"
    ! wants c || c_library "$arch"
done
! wants sbom || sbom
rm -r "$dist/man" "$dist/completions"
(cd "$dist" && sha256sum -- * >SHA256SUMS)
step 'target/dist'
(cd "$dist" && ls -l)
