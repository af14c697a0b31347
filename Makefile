# Commands for developers and CI. Each target installs what it lacks (scripts/need.sh lists what and why).
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo demo-cluster upf preload python python-test test test-sctp test-sriov test-web docs lint dist dist-check release-check e2e bench size truth nightly ric

# Incremental artifacts double the size of target/ and do not speed up a build from scratch.
export CARGO_INCREMENTAL ?= 0
# Seconds for each fuzz target of `make nightly`.
FUZZ_SECONDS ?= 600

help:            ## show this list
	@grep -E '^[a-z0-9-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo:            ## build quickly, show a RIC with 20 base stations and two xApps for 20 s, then measure it and write a report
	@scripts/need.sh build
	@# Only what the two commands use: the first result is there sooner. Other verbs name the feature that they need.
	cargo build --profile demo -p ranlab --no-default-features --features ric,ran,bench
	target/demo/ranlab demo
	target/demo/ranlab bench run scenarios/quickstart.toml --fresh

demo-cluster:    ## a cluster of three RICs and three NATS servers; one of each is killed, and the interruption is measured
	@scripts/need.sh build nats
	cargo build --profile demo -p ranlab
	scripts/cluster.py target/demo/ranlab

upf:             ## a UPF under load: 10,000 sessions, rising packet rates, a report (uses network namespaces if permitted)
	@scripts/need.sh build
	cargo build --profile demo -p ranlab
	RANLAB=target/demo/ranlab scripts/upf.sh

preload:         ## the library that replaces SCTP sockets of unmodified programs: target/release/libranlab_preload.so
	@scripts/need.sh build
	cargo build --release -p ranlab-preload

python:          ## the Python package: an optimized wheel in target/wheels, installed into .venv
	@scripts/need.sh build python
	@scripts/python.sh wheel

python-test:     ## test the installed Python package: tests, types, examples
	@scripts/need.sh build python
	@scripts/python.sh test

test:            ## all tests of the workspace, including the comparison with an independent codec
	@scripts/need.sh build
	@scripts/need.sh oracle || [[ -z $${CI:-} ]]
	@scripts/tests.py

test-sctp:       ## tests with the SCTP of a Debian kernel in QEMU: transports, and a RIC with base stations and an xApp
	@scripts/need.sh build vm
	@scripts/test-sctp.sh

test-sriov:      ## tests of a shared network card and kernel schedulers in QEMU: virtual functions, macvlan, taprio, cbs, etf
	@scripts/need.sh build vm
	@scripts/test-sriov.sh

test-web:        ## test the web pages in a browser: keyboard, light, dark, narrow, accessibility, hostile names, 10,000 nodes
	@scripts/need.sh build web
	@scripts/test-web.sh

flat:            ## generate the FlatBuffers code from its schema, with planus-cli
	@scripts/flat.sh

docs:            ## build the documentation site with checked links (mdBook); open target/book/index.html
	@scripts/need.sh book
	@scripts/book.sh

lint:            ## formatting, clippy, documentation, dependencies between crates, house rules
	@scripts/need.sh build lint
	@scripts/lint.sh

e2e:             ## run the scripts in tests/e2e with the release binary, or with the binary in RANLAB
	@scripts/need.sh build
	@tests/e2e.sh

bench:           ## compare performance ratios with their limits; fails if one is missed
	@scripts/need.sh build
	cargo build --release -p ranlab -p ranlab-benches
	@$(MAKE) --no-print-directory ric
	target/release/ranlab-benches

size:            ## code to recompile after a change, by crate and on average; sizes of the built binaries
	@scripts/rebuilt.py
	@ls -l target/release/ranlab target/release/ranlab-ric target/demo/ranlab 2>/dev/null || true

ric:             ## build the RIC alone: target/release/ranlab-ric
	cargo build --release -p ranlab-e2-lab --features lean,tls --bin ranlab-ric

truth:           ## test the statistics on simulated systems with known results: coverage of intervals, rate of false claims
	@scripts/need.sh build
	cargo build --profile demo -p ranlab -p ranlab-benches
	target/demo/ranlab-benches truth

dist:            ## release artifacts in target/dist: static binaries, Debian packages, wheel, C library, SBOM (ARCHES="x86_64 aarch64")
	@scripts/need.sh build dist
	@scripts/dist.sh

dist-check:      ## install the artifacts of `make dist` in a bare Debian, and time the first KPI of each
	@scripts/need.sh bare
	@scripts/dist-check.sh

release-check:   ## what has to hold before a release: crates package, licences, advisories, oldest Rust, compatibility
	@scripts/need.sh build release
	@scripts/release-check.sh

nightly:         ## fuzzing (FUZZ_SECONDS per target, default 600), e2e, SCTP, soaks, installed third-party programs (docs/reference/peers.md)
	@scripts/need.sh build fuzz vm
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/nightly.sh
