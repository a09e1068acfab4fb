#!/bin/bash
# build.sh CACHE_DIR: images of the broker and the store under their official names, made of the local stack's parts, for
# machines that reach package registries but no image registry. Does nothing where official images are there, or stand-ins
# of these very sources.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
cache=$1
kafka=apache/kafka:4.3.1
store=clickhouse/clickhouse-server:26.9
label=dev.trainwire.standin
key=$(cat "$here"/*.py "$here/Dockerfile" "$top"/deploy/local/*.py "$top"/runtime/*.py "$top/requirements/local.txt" | sha256sum | cut -c1-16)

# official: no label; key: a stand-in of these sources; anything else: a stand-in of others; nothing: no image
made_of() { docker image inspect -f "{{with index .Config.Labels \"$label\"}}{{.}}{{else}}official{{end}}" "$1" 2>/dev/null || true; }
fits() { case "$(made_of "$1")" in official | "$key") return 0 ;; *) return 1 ;; esac; }
fits "$kafka" && fits "$store" && exit 0
if docker pull -q "$kafka" >/dev/null 2>&1 && docker pull -q "$store" >/dev/null 2>&1; then exit 0; fi

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
mkdir "$context/jars"
"$top/.venv/bin/python" - "$cache" "$context/jars" <<'PY'
import pathlib, shutil, sys
from deploy.local import jars
for jar in jars.classpath(pathlib.Path(sys.argv[1]), lambda text: print(text, file=sys.stderr)).split(":"):
    shutil.copy(jar, sys.argv[2])
PY
cp "$here"/*.py "$here"/Dockerfile "$context/"
cp -r "$top/runtime" "$context/runtime"
mkdir -p "$context/deploy/local" && cp "$top/deploy/__init__.py" "$context/deploy/" && cp "$top"/deploy/local/*.py "$context/deploy/local/"
cp "$top/requirements/local.txt" "$context/"
docker build -q --network host --label "$label=$key" --target kafka -t "$kafka" "$context" >/dev/null
docker build -q --network host --label "$label=$key" --target store -t "$store" "$context" >/dev/null
