#!/bin/sh
# Installs what transforms in Zig are built with, unless it is there: Zig. Prints the path of the compiler.
set -eu
version=0.17.1
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/zig-$version
if [ ! -x "$tools/ziglang/zig" ]; then
  if ! python3 -m pip --version >/dev/null 2>&1 && command -v apt-get >/dev/null; then
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends python3-pip >&2
  fi
  mkdir -p "$(dirname "$tools")"
  # Unpacked aside and renamed, so that a half-done installation is never taken for a whole one.
  new=$(mktemp -d "$tools.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$new/zig" "ziglang==$version" >&2; then
    echo "Zig $version could not be installed: python3 with pip is needed (Debian: python3-pip), and a package index that it reaches" >&2
    exit 1
  fi
  chmod 755 "$new/zig"
  [ -e "$tools" ] || mv "$new/zig" "$tools"
fi
echo "$tools/ziglang/zig"
