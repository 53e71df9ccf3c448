#!/usr/bin/env bash
# build.sh PROJECT_DIR OUT.wasm: a TypeScript or JavaScript project to a component without imports.
set -euo pipefail
sdk=$(cd "$(dirname "$0")" && pwd)
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/typescript-0.1.0/node_modules
mkdir -p "$(dirname "$2")"
out=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$1"
"$tools/.bin/tsc" --project tsconfig.json
"$tools/.bin/esbuild" src/transform.[jt]s --bundle --format=esm --target=es2023 --log-level=warning --outfile="$work/transform.js"
# A fixed clock and fixed random numbers: the engine's state is part of the component, and holds seeds of both.
cd "$work"
TZ=UTC faketime -f '2000-01-01 00:00:00' env FAKERANDOM_SEED=0x1 \
    node "$tools/componentize-qjs/cli.mjs" --sync --stub-wasi --wit "$sdk/wit" --js transform.js --output "$out" >&2
