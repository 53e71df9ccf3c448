#!/bin/sh
# Runs the unit tests of a project: sh test.sh PROJECT_DIR [--test-filter NAME_PART]. They run natively.
set -eu
sdk=$(cd "$(dirname "$0")" && pwd)
project=$1
shift
zig=$(sh "$sdk/setup.sh")
exec "$zig" test --dep gristmill "-Mroot=$project/src/root.zig" "-Mgristmill=$sdk/src/gristmill.zig" "$@"
