#!/bin/sh
# Format, vet and tests of the Go SDK and of all transforms in Go, natively.
set -eu
cd "$(dirname "$0")"
sh ../../guest-sdk/go/setup.sh
PATH=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/go-1.27.3/bin:$PATH
export GOTOOLCHAIN=local GOPROXY=off GOWORK=off GOFLAGS=
for module in ../../guest-sdk/go */; do
    (
        cd "$module"
        unformatted=$(gofmt -l .)
        if [ -n "$unformatted" ]; then
            echo "$module: gofmt would change $unformatted" >&2
            exit 1
        fi
        go vet ./...
        GOOS=wasip1 GOARCH=wasm go vet .
        go test ./...
    )
done
