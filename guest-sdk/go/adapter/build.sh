#!/usr/bin/env bash
# Makes preview1.wasm of preview1.wat, the same bytes every time. Needs wasm-tools 1.254 or later.
set -euo pipefail
cd "$(dirname "$0")"
wasm-tools parse preview1.wat -o preview1.wasm
wasm-tools validate preview1.wasm
