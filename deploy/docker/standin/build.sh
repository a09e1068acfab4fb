#!/bin/bash
# build.sh CACHE_DIR: images of the broker and the store under their official names, made of the local stack's parts, for
# machines that reach package registries but no image registry. Does nothing where the images are there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
cache=$1
kafka=apache/kafka:4.3.1
store=clickhouse/clickhouse-server:26.9
docker image inspect "$kafka" "$store" >/dev/null 2>&1 && exit 0
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
docker build -q --network host --target kafka -t "$kafka" "$context" >/dev/null
docker build -q --network host --target store -t "$store" "$context" >/dev/null
