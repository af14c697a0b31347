# Everything that people and CI run. Each target installs what it lacks (scripts/need.sh says what and why).
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo demo-cluster upf preload python python-test test test-sctp test-sriov test-web docs lint e2e bench size truth nightly

# Incremental artefacts double the size of target/ and help nobody who builds from nothing.
export CARGO_INCREMENTAL ?= 0
# Seconds that each fuzz target of `make nightly` gets.
FUZZ_SECONDS ?= 600

help:            ## show this list
	@grep -E '^[a-z0-9-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo:            ## build quickly, watch a RIC, 20 base stations and two xApps for 20 seconds, then measure: a report
	@scripts/need.sh build
	cargo build --profile demo -p ranlab
	target/demo/ranlab demo
	target/demo/ranlab bench run scenarios/quickstart.toml --fresh

demo-cluster:    ## three nats-servers, three RICs as one, base stations, xApps: one RIC and one server are killed; the gaps
	@scripts/need.sh build nats
	cargo build --profile demo -p ranlab
	scripts/cluster.py target/demo/ranlab

upf:             ## a UPF and its load, in namespaces where this user may: 10,000 sessions, rising rates, a report
	@scripts/need.sh build
	cargo build --profile demo -p ranlab
	RANLAB=target/demo/ranlab scripts/upf.sh

preload:         ## the library that carries SCTP sockets of stock programs: target/release/libranlab_preload.so
	@scripts/need.sh build
	cargo build --release -p ranlab-preload

python:          ## the Python package: an optimized wheel in target/wheels, installed into .venv
	@scripts/need.sh build python
	@scripts/python.sh wheel

python-test:     ## the package that `make python` installed: its tests, its types, its examples
	@scripts/need.sh build python
	@scripts/python.sh test

test:            ## every test of the workspace, with the independent codec as oracle
	@scripts/need.sh build oracle
	@RANLAB_PYTHON="$(CURDIR)/.venv/bin/python" scripts/test.sh

test-sctp:       ## SCTP of a kernel, on Debian's in QEMU: the transports' suite, and a RIC with base stations and an xApp
	@scripts/need.sh build vm
	@scripts/test-sctp.sh

test-sriov:      ## a shared card and the kernel's schedulers, emulated: virtual functions, macvlan, taprio, cbs, etf, in QEMU
	@scripts/need.sh build vm
	@scripts/test-sriov.sh

test-web:        ## the RIC's page in a browser: keys alone, light, dark, narrow, axe, hostile names, 10,000 nodes, a stopped tab
	@scripts/need.sh build web
	@scripts/test-web.sh

flat:            ## the FlatBuffers code from its schema, by planus-cli
	@scripts/flat.sh

docs:            ## the documentation site in target/book, its links checked (mdBook); open target/book/index.html
	@scripts/need.sh book
	@scripts/book.sh

lint:            ## formatting, clippy, documentation, purity of the lower floors, house rules
	@scripts/need.sh build lint
	@scripts/lint.sh

e2e:             ## the scripts in tests/e2e against the release binary, or the one that RANLAB names
	@scripts/need.sh build
	@tests/e2e.sh

bench:           ## the promised ratios, each beside its bar; fails if one is missed
	@scripts/need.sh build
	cargo build --release -p ranlab -p ranlab-benches
	target/release/ranlab-benches

size:            ## code that a change compiles again, by crate and on average; sizes of the binaries that are built
	@scripts/rebuilt.py
	@ls -l target/release/ranlab target/demo/ranlab 2>/dev/null || true

truth:           ## systems of known answer, a thousand seeds each: how often intervals cover it and claims are false
	@scripts/need.sh build
	cargo build --profile demo -p ranlab -p ranlab-benches
	target/demo/ranlab-benches truth

nightly:         ## fuzzing (FUZZ_SECONDS each, 600 by default), e2e, SCTP, soaks, third-party programs whose builds are named (docs/reference/peers.md)
	@scripts/need.sh build fuzz vm
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/nightly.sh
