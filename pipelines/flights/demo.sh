#!/usr/bin/env bash
# The flights pipeline from start to end, in .demo/: a first run, a run with nothing to do, corrections, a replay.
set -euo pipefail
cd "$(dirname "$0")/../.."
gristmill=${GRISTMILL:-gristmill}
here=pipelines/flights
demo=.demo
rm -rf "$demo"
mkdir -p "$demo"
cp -r "$here/pipeline.yaml" "$here/data" "$demo/"
cp "$here"/broken-rows/*.csv* "$demo/data/flights/"
run() { "$gristmill" --state "$demo/state" "$@"; }
say() { printf '\n== %s\n' "$*"; }

say "three months of flights, some rows broken on purpose"
run run --once --count "$demo/pipeline.yaml"
say "a second run finds nothing to do"
run run --once --count "$demo/pipeline.yaml"
say "corrections arrive: only their rows change"
cp "$here"/corrections/*.csv "$demo/data/flights/"
run run --once --count "$demo/pipeline.yaml"
say "every stored batch, mapped again with the components it is pinned to"
run replay flights --verify
say "where the task stands"
run status flights
printf '\nThe target is %s (tables flights and delays), the state is in %s.\n' "$demo/flights.db" "$demo/state"
