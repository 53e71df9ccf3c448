#!/usr/bin/env bash
# Installs the tools that builds and tests need, in the versions of package-lock.json. Silent where all is there.
set -euo pipefail
sdk=$(cd "$(dirname "$0")" && pwd)
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/typescript-0.1.0

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
# Stops the clock while a component is made, so that the same source makes the same bytes.
command -v faketime >/dev/null || missing+=(faketime)
if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "install ${missing[*]} first (libfaketime on some systems)" >&2
        exit 1
    fi
    as_root apt-get update -qq >&2
    as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi

cmp -s "$sdk/package-lock.json" "$tools/package-lock.json" && exit
mkdir -p "$(dirname "$tools")"
new=$(mktemp -d "$tools.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp "$sdk/package.json" "$sdk/package-lock.json" "$new"
npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
rm -rf "$tools"
mv "$new" "$tools"
