#!/bin/sh
# Builds a project into a core module that imports nothing: sh build.sh PROJECT_DIR OUT.wasm
# `gristmill transform build` does the same and wraps the module into a component.
set -eu
sdk=$(cd "$(dirname "$0")" && pwd)
project=$1 out=$2
zig=$(sh "$sdk/setup.sh")
"$zig" cc -target wasm32-wasi -mexec-model=reactor -std=gnu17 -Wall -Wextra -O3 -g0 -fno-exceptions \
  -Wl,-z,stack-size=1048576 -I "$sdk/include" -I "$sdk/src" -I "$project/src" "$sdk"/src/*.c "$project"/src/*.c -o "$out"
# Keeps the names of functions, which the runner shows of a trap, and drops what else the libraries carry for debuggers.
python3 "$sdk/strip.py" "$out"
