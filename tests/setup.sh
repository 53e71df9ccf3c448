#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks. Prints nothing when all is there.
set -euo pipefail

packages=()
command -v cc >/dev/null || packages+=(build-essential)
command -v mount >/dev/null || packages+=(mount)

# Guests need a standard library for wasm32: rustup's where it can be had, else Debian's compiler for the web.
libdir=$(rustc --print target-libdir --target wasm32-unknown-unknown)
if ! ls "$libdir"/libcore-*.rlib >/dev/null 2>&1 && ! rustup target add wasm32-unknown-unknown >/dev/null 2>&1; then
    for package in rustc-web cargo-web rust-web-src lld-19; do
        dpkg -s "$package" >/dev/null 2>&1 || packages+=("$package")
    done
fi

[ ${#packages[@]} -eq 0 ] && exit 0
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
echo "installing: ${packages[*]}"
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
