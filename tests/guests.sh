#!/usr/bin/env bash
# The languages of guests. Cargo builds and tests those in Rust among all else; here they are for `make guests` alone.
#
#   guests.sh setup                     installs what their toolchains lack, by guest-sdk/*/setup.sh
#   guests.sh build GRISTMILL DIR       builds transforms/<language>/* into DIR/<language>/, and the reference into DIR/rust/
#   guests.sh test                      runs the unit tests of every SDK and transform but those in Rust, natively
#   guests.sh rust CARGO TEST...        the same for Rust, with the tests that this cargo command builds
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

setup() {
    for script in guest-sdk/*/setup.sh; do
        bash "$script" >/dev/null
    done
}

build() {
    local gristmill=$1 out=$2
    "$gristmill" --quiet transform build transforms/rust/conformance --out "$out/rust"
    for folder in transforms/*/; do
        local language=${folder#transforms/}
        language=${language%/}
        [ "$language" = rust ] && continue
        "$gristmill" --quiet transform build "$folder"*/ --out "$out/$language"
    done
}

# What a test prints is of use only if it fails.
quietly() {
    local said
    if ! said=$("$@" 2>&1); then
        printf '%s\n' "$said" >&2
        echo "failed: $*" >&2
        exit 1
    fi
}

# One project after the other, each with its language's own runner.
unit_tests() {
    local project
    quietly bash transforms/go/test.sh
    for project in guest-sdk/c/tests transforms/c/*/; do
        quietly bash guest-sdk/c/test.sh "$project"
    done
    for project in guest-sdk/zig/tests transforms/zig/*/; do
        quietly bash guest-sdk/zig/test.sh "$project"
    done
    for project in guest-sdk/typescript transforms/typescript/*/ transforms/javascript/*/; do
        quietly bash guest-sdk/typescript/test.sh "$project"
    done
    for project in guest-sdk/python transforms/python/*/; do
        quietly env -C "$project" PYTHONPATH="$root/guest-sdk/python" python3 -m unittest discover -q -s tests -t .
    done
    echo "unit tests of all languages pass"
}

# The command is the one for the whole workspace, for another selection of packages would build their dependencies again.
rust_tests() {
    local found
    found=$("$@" --no-run --message-format=json 2>/dev/null |
        sed -n '/\/\(guest-sdk\|transforms\)\/rust\/.*"test":true/s/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"executable":"\([^"]*\)".*/\1 \2/p')
    while read -r package tests; do
        quietly env -C "$package" "$tests" --quiet </dev/null
    done <<<"${found:?cargo built no tests in Rust}"
    echo "unit tests in Rust pass"
}

case ${1:-} in
setup) setup ;;
build) setup && build "$2" "$3" ;;
test) unit_tests ;;
rust) rust_tests "${@:2}" ;;
*) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
