#!/usr/bin/env bash
# A RUSTC_WRAPPER: instruments what is fuzzed, the decoder and Arrow, and nothing else. The compiler for components that the
# crate also depends on takes gigabytes and a quarter of an hour to build with coverage and sanitizer, and is never called.
set -euo pipefail
rustc=$1
shift
name=
for ((i = 1; i < $#; i++)); do
    if [ "${!i}" = --crate-name ]; then
        next=$((i + 1))
        name=${!next}
    fi
done
case $name in
gristmill | gristmill_core | decode | libfuzzer_sys | arrow* | bytes | half | num_* | "") exec "$rustc" "$@" ;;
esac
kept=()
for argument in "$@"; do
    case $argument in
    -Cpasses=sancov-module | -Cllvm-args=* | -Zsanitizer=*) ;;
    *) kept+=("$argument") ;;
    esac
done
exec "$rustc" "${kept[@]}"
