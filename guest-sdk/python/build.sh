#!/usr/bin/env bash
# Makes a component of a project: build.sh PROJECT_DIR OUT.wasm
#
# A component holds a snapshot of the interpreter's memory after all imports, and in it traces of the build: the seed of
# hashes, times of files. So that unchanged sources give the same bytes, what was built is kept by the digest of all
# that went into it, in $GRISTMILL_BUILDS or ~/.cache/gristmill/builds.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: build.sh PROJECT_DIR OUT.wasm" >&2; exit 2; }
version=0.25.1
sdk=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$1" && pwd)
out=$2
tool=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/python-$version/bin/componentize-py
builds=${GRISTMILL_BUILDS:-$HOME/.cache/gristmill/builds}
[ -f "$project/transform.py" ] || { echo "$project has no transform.py" >&2; exit 1; }
[ -x "$tool" ] || { echo "componentize-py $version is missing: run $sdk/setup.sh" >&2; exit 1; }

# A copy: the interpreter writes its caches beside the sources.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy() { # FROM TO PATTERN...: the files of a folder but for those of the patterns
    local from=$1 to=$2 without=()
    shift 2
    for pattern in "$@" '*/.*' '*/__pycache__/*' '*.wasm'; do without+=(-not -path "$pattern"); done
    mkdir -p "$to"
    (cd "$from" && find . -type f "${without[@]}" -print0 | tar --null -T - -cf -) | tar -xf - -C "$to"
}
copy "$project" "$work/app" './tests/*' './cases/*' './vendor/*' '*.md'
copy "$sdk/gristmill" "$work/sdk/gristmill" './testing/*'
copy "$sdk/wit" "$work/wit"
mkdir -p "$work/packages"
[ ! -d "$project/vendor/packages" ] || copy "$project/vendor/packages" "$work/packages"

digest=$({ echo "componentize-py $version"; cd "$work"; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } |
    sha256sum | cut -c 1-64)
kept=$builds/$digest.wasm
if [ ! -f "$kept" ]; then
    "$tool" --quiet --wit-path "$work/wit" --world transformer componentize --stub-wasi \
        --python-path "$work/app" --python-path "$work/packages" --python-path "$work/sdk" \
        --output "$work/out.wasm" gristmill.component
    mkdir -p "$builds"
    # Two builds at once agree on whichever is there first.
    mv "$work/out.wasm" "$builds/.$digest.$$"
    ln "$builds/.$digest.$$" "$kept" 2>/dev/null || true
    rm -f "$builds/.$digest.$$"
fi
mkdir -p "$(dirname "$out")"
cp "$kept" "$out"
