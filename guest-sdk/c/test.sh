#!/bin/sh
# Builds and runs the unit tests of a project: sh test.sh PROJECT_DIR [NAME_PART]. They run natively, and end at the first
# undefined behaviour.
set -eu
sdk=$(cd "$(dirname "$0")" && pwd)
project=$1
shift
zig=$(sh "$sdk/setup.sh")
mkdir -p "$project/build"
"$zig" cc -std=gnu17 -Wall -Wextra -g -O1 -fsanitize=undefined -fno-sanitize-recover=all \
  -I "$sdk/include" -I "$project/src" "$sdk"/src/*.c "$sdk"/testing/*.c "$project"/src/*.c "$project"/tests/*.c \
  -lm -o "$project/build/tests"
exec "$project/build/tests" "$@"
