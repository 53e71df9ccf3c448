#!/bin/sh
# Builds a project into a core module that imports nothing: sh build.sh PROJECT_DIR OUT.wasm
# `gristmill transform build` does the same and wraps the module into a component.
set -eu
sdk=$(cd "$(dirname "$0")" && pwd)
project=$1 out=$2
zig=$(sh "$sdk/setup.sh")
"$zig" build-exe -target wasm32-freestanding -fno-entry -rdynamic -O safe --stack 1048576 \
  --dep gristmill --dep transform "-Mroot=$sdk/src/component.zig" \
  "-Mgristmill=$sdk/src/gristmill.zig" \
  --dep gristmill "-Mtransform=$project/src/root.zig" \
  "-femit-bin=$out"
# Keeps the names of functions, which the runner shows of a panic, and drops what only debuggers read.
python3 "$sdk/strip.py" "$out"
