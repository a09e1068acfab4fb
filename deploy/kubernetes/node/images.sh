#!/bin/bash
# images.sh OUT.tar: the image of viewers' pods, as a docker-archive that the node imports. Built anew when what is in it changed.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd); TOP=$(cd "$HERE/../../.." && pwd)
OUT=$1; CONTEXT=$(mktemp -d); trap 'rm -rf "$CONTEXT"' EXIT
cp "$HERE/Dockerfile" "$CONTEXT"; mkdir "$CONTEXT/app"
python3 - "$TOP/pyproject.toml" >"$CONTEXT/requirements.txt" <<'P'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
wanted = [*project["dependencies"], *extras["gateway"], *extras["viewers"]]
print("\n".join(one for one in wanted if not one.startswith("trainwire")))  # the SDK comes from this tree
P
(cd "$TOP" && find runtime schemas gateway \( -name node_modules -o -name static -o -name __pycache__ \) -prune -o \( -name '*.py' -o -name '*.toml' -o -name '*.sql' \) -print0 |
  tar --null -T - -c) | tar -C "$CONTEXT/app" -x
cp -r "$TOP/producers/sdk" "$CONTEXT/app/sdk"; cp "$TOP/tests/services/stub_tool.py" "$CONTEXT/app"
find "$CONTEXT" -name __pycache__ -prune -exec rm -rf {} +
KEY=$(cd "$CONTEXT" && find . -type f | sort | xargs -d '\n' sha256sum | sha256sum | cut -c1-16)
[ ! -f "$OUT" ] || [ "$(cat "$OUT.key" 2>/dev/null)" != "$KEY" ] || exit 0
DOCKER_STATE=${TRAINWIRE_TEST_DOCKER_STATE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainwire/docker}
# An engine that is begun here ends here, and leaves nothing: it builds on this machine's own network, without a bridge or rules,
# and mounts in a namespace of its own.
running() { docker version >/dev/null 2>&1 || docker -H "unix://$DOCKER_STATE/docker.sock" version >/dev/null 2>&1; }
running || trap 'rm -rf "$CONTEXT"; "$TOP/deploy/docker/engine.sh" "$DOCKER_STATE" end' EXIT
ADDRESS=$(DOCKER_OPTIONS="--iptables=false --ip6tables=false --bridge=none" unshare --mount "$TOP/deploy/docker/engine.sh" "$DOCKER_STATE")
export "$ADDRESS"
"$TOP/deploy/docker/base.sh"
DOCKER_BUILDKIT=0 docker build -q --network host -t trainwire/viewers:latest -t trainwire/gateway:latest "$CONTEXT" >&2
mkdir -p "$(dirname "$OUT")"; docker save -o "$OUT.new" trainwire/viewers:latest trainwire/gateway:latest
mv "$OUT.new" "$OUT"; echo "$KEY" >"$OUT.key"
