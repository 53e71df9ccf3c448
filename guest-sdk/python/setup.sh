#!/usr/bin/env bash
# Installs the toolchain for transforms in Python, at the pinned version, where it is missing. Prints nothing when all
# is there.
set -euo pipefail
version=0.25.1
tools=${GRISTMILL_TOOLS:-$HOME/.cache/gristmill/tools}
home=$tools/python-$version

[ -x "$home/bin/componentize-py" ] && [ -e "$home/.complete" ] && exit 0
if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo="sudo"
    echo "installing: python3 python3-venv"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
fi
echo "installing: componentize-py $version"
rm -rf "$home"
python3 -m venv "$home"
"$home/bin/pip" install --quiet --disable-pip-version-check --no-input "componentize-py==$version"
touch "$home/.complete"
