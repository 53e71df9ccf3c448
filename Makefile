# Gristmill. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Guests are built once for everything.
GUEST_TARGET ?= $(TARGET)/guests
COMPONENTS := $(abspath $(TARGET)/components)
TRANSFORMS := $(sort $(dir $(wildcard transforms/rust/*/Cargo.toml)))
TEST_GUESTS := $(sort $(dir $(wildcard tests/guests/*/Cargo.toml)))
# One selection of packages and features for all test builds: another one would build the dependencies again.
TESTED := --workspace --features gristmill/faults --locked

export GRISTMILL_COMPONENTS := $(COMPONENTS)
export GRISTMILL_GUEST_TARGET := $(abspath $(GUEST_TARGET))

.PHONY: help demo test guests components crash bench lint docs fuzz setup

help: ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: setup ## Run the flights pipeline on real data, into .demo/
	$(CARGO) build --profile demo --no-default-features --locked -p gristmill
	$(TARGET)/demo/gristmill --quiet transform build $(TRANSFORMS) --out $(COMPONENTS)
	GRISTMILL=$(abspath $(TARGET)/demo/gristmill) pipelines/flights/demo.sh

test: components ## Build what the tests need and run all of them
	tests/guests.sh test
	$(CARGO) test $(TESTED)

guests: components ## Build and test every language's SDK and transforms; print languages × cases with digests
	tests/guests.sh test
	tests/guests.sh rust $(CARGO) test $(TESTED)
	$(CARGO) test $(TESTED) --test suite languages:: -- --nocapture

components: setup # The transforms of all languages and the test guests
	$(CARGO) test $(TESTED) --no-run
	$(TARGET)/debug/gristmill --quiet transform build $(TRANSFORMS) $(TEST_GUESTS) --out $(COMPONENTS)
	tests/guests.sh build $(abspath $(TARGET))/debug/gristmill $(COMPONENTS)

crash: components ## Kill a run at every fault point, for every sink, and compare with an uninterrupted run
	$(CARGO) test $(TESTED) --test suite crash:: -- --nocapture

bench: setup ## Measure ratios in one run; writes target/bench/report.json (BENCH="--quick boundary" for a part)
	$(CARGO) build --release --locked -p gristmill -p gristmill-bench
	$(TARGET)/release/gristmill --quiet transform build $(TRANSFORMS) --out $(COMPONENTS)
	tests/guests.sh setup
	$(TARGET)/release/gristmill-bench $(BENCH)

lint: ## Formatting, clippy without warnings, and the core's purity
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(TESTED) --all-targets -- -D warnings

docs: ## API documentation, with every link checked
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --no-deps --document-private-items --locked -p gristmill -p gristmill-core -p gristmill-guest

fuzz: ## Ten minutes of malformed guest output against the column decoder (nightly toolchain, cargo-fuzz)
	cd runner/fuzz && RUSTC_WRAPPER=$$PWD/rustc.sh $(CARGO) +nightly fuzz run decode -- -max_total_time=600 -max_len=4096

setup: ## Install what a fresh machine lacks: a C compiler and, where rustup has no wasm32 target, Debian's
	@tests/setup.sh
