#!/bin/bash
# engine.sh STATE_DIR: a Docker Engine of our own on a machine that has none running. Prints DOCKER_HOST. Needs root and Debian.
# engine.sh STATE_DIR end: ends that engine, and returns when it is gone: until then its pid file refuses the next one.
set -euo pipefail
mkdir -p "$1"
state=$(cd "$1" && pwd)

engine() { local pid; pid=$(cat "$state/docker.pid" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] && echo "$pid"; }
gone() { local pid; ! pid=$(engine) || timeout 60 tail --pid="$pid" -f /dev/null; rm -f "$state/docker.pid"; }

if [ "${2:-}" = end ]; then
  ! pid=$(engine) || kill "$pid"
  gone
elif docker version >/dev/null 2>&1; then
  echo "DOCKER_HOST=${DOCKER_HOST:-unix:///var/run/docker.sock}"
else
  export DOCKER_HOST=unix://$state/docker.sock
  if ! docker version >/dev/null 2>&1; then
    if ! command -v dockerd >/dev/null; then
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io >"$state/apt.log" 2>&1
    fi
    gone # one that is ending still
    setsid dockerd ${DOCKER_OPTIONS:-} --data-root "$state/data" --exec-root "$state/exec" --host "$DOCKER_HOST" --pidfile "$state/docker.pid" \
      >"$state/dockerd.log" 2>&1 &
    for _ in $(seq 150); do docker version >/dev/null 2>&1 && break; sleep 0.2; done
    docker version >/dev/null 2>&1 || { echo "dockerd did not start:" >&2; tail -5 "$state/dockerd.log" >&2; exit 1; }
  fi
  echo "DOCKER_HOST=$DOCKER_HOST"
fi
