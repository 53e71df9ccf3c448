#!/usr/bin/env bash
# test.sh PROJECT_DIR: checks and runs the project's tests, test/*.test.ts or .js, natively and without WASM.
set -euo pipefail
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/typescript-0.1.0/node_modules
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$1"
"$tools/.bin/tsc" --project test/tsconfig.json --typeRoots "$tools/@types"
"$tools/.bin/esbuild" test/*.test.[jt]s --bundle --format=esm --platform=node --target=node18 --sourcemap=inline \
    --log-level=warning --out-extension:.js=.mjs --outdir="$work"
node --enable-source-maps --test --test-reporter=spec "$work"/*.mjs
