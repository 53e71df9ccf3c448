#!/usr/bin/env bash
# The languages of guests but Rust, which Cargo builds and tests.
#
#   guests.sh setup                     installs what their toolchains lack, by guest-sdk/*/setup.sh
#   guests.sh build GRISTMILL DIR       builds transforms/<language>/* into DIR/<language>/, and the reference into DIR/rust/
#   guests.sh test                      runs the unit tests of every SDK and transform, natively
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}

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

test_go() { (cd "$1" && PATH="$tools/go-1.27.3/bin:$PATH" GOFLAGS=-mod=mod GOWORK=off GOPROXY=off go test ./...); }
test_python() { (cd "$1" && PYTHONPATH="$root/guest-sdk/python" python3 -m unittest discover -q -s tests -t .); }

unit_tests() {
    for sdk in guest-sdk/*/; do
        local language=$(basename "$sdk")
        [ "$language" = rust ] && continue
        local of_sdk=$sdk
        [ "$language" = c ] && of_sdk=guest-sdk/c/tests
        for project in "$of_sdk" transforms/"$language"/*/; do
            echo "testing $project"
            if [ -x "$sdk/test.sh" ]; then
                quietly bash "$sdk/test.sh" "$project"
            else
                quietly "test_$language" "$project"
            fi
        done
    done
}

case ${1:-} in
setup) setup ;;
build) setup && build "$2" "$3" ;;
test) unit_tests ;;
*) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
