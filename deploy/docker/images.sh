#!/bin/bash
# images.sh [NAME…]: the images that deploy/kubernetes names, of this tree: shipper, worker, gateway, cli (default: all).
# Needs a Docker Engine and `make setup`. Tagged trainwire/NAME:VERSION and :latest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

for project in . producers/sdk; do (cd "$top/$project" && "$top/.venv/bin/python" -m hatchling build -t wheel -d "$context" >/dev/null 2>&1); done
version=$(basename "$context"/trainwire_platform-*.whl | cut -d- -f2)
cp "$here/Dockerfile" "$context"
[ $# -gt 0 ] || set -- shipper worker gateway cli
for name; do
  program=trainwire-$name
  [ "$name" != cli ] || program=trainwirectl
  cp "$top/requirements/$name.txt" "$context/requirements.txt"
  docker build -q --network host --build-arg "PROGRAM=$program" -t "trainwire/$name:$version" -t "trainwire/$name:latest" "$context" >/dev/null
  echo "trainwire/$name:$version"
done
