#!/usr/bin/env bash
# A RUSTC_WRAPPER: instruments what is fuzzed, the decoder and Arrow, and nothing else. The compiler for components that the
# crate also depends on takes gigabytes and a quarter of an hour to build with coverage and sanitizer, and is never called.
# What is instrumented is compiled in many units: in one, the compiler's time grows with the square of the crate.
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
instrumented=no
case $name in
gristmill | gristmill_core | decode | libfuzzer_sys | arrow* | bytes | half | num_* | "") instrumented=yes ;;
esac
given=()
for argument in "$@"; do
    case $argument in
    codegen-units=*) given+=(codegen-units=64) ;;
    -Ccodegen-units=*) given+=(-Ccodegen-units=64) ;;
    -Cpasses=sancov-module | -Cllvm-args=* | -Zsanitizer=*) [ $instrumented = no ] || given+=("$argument") ;;
    *) given+=("$argument") ;;
    esac
done
exec "$rustc" "${given[@]}"
