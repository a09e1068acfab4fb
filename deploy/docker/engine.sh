#!/bin/bash
# engine.sh STATE_DIR: a Docker Engine of our own on a machine that has none running, and a local stand-in for the
# python:3.11-slim base image where no image registry is reached. Prints DOCKER_HOST. Needs root and Debian.
# To end it: kill $(cat STATE_DIR/docker.pid)
set -euo pipefail
mkdir -p "$1"
state=$(cd "$1" && pwd)

if docker version >/dev/null 2>&1; then
  echo "DOCKER_HOST=${DOCKER_HOST:-unix:///var/run/docker.sock}"
else
  export DOCKER_HOST=unix://$state/docker.sock
  if ! docker version >/dev/null 2>&1; then
    missing=()
    command -v dockerd >/dev/null || missing+=(docker.io)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    if [ ${#missing[@]} -gt 0 ]; then
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$state/apt.log" 2>&1
    fi
    setsid dockerd ${DOCKER_OPTIONS:-} --data-root "$state/data" --exec-root "$state/exec" --host "$DOCKER_HOST" --pidfile "$state/docker.pid" \
      >"$state/dockerd.log" 2>&1 &
    for _ in $(seq 150); do docker version >/dev/null 2>&1 && break; sleep 0.2; done
    docker version >/dev/null 2>&1 || { echo "dockerd did not start:" >&2; tail -5 "$state/dockerd.log" >&2; exit 1; }
  fi
  echo "DOCKER_HOST=$DOCKER_HOST"
fi

docker image inspect python:3.11-slim >/dev/null 2>&1 && exit 0
docker pull -q python:3.11-slim >/dev/null 2>&1 && exit 0
root=$state/rootfs
rm -rf "$root"
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$root" >"$state/debootstrap.log" 2>&1
# Builds install packages as this machine does: the same certificates, the same package indexes.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
rm -f "$root/etc/apt/sources.list"
cp /etc/apt/sources.list.d/*.sources "$root/etc/apt/sources.list.d/" 2>/dev/null || true
cp /etc/apt/apt.conf.d/99* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
  if [ -f "$file" ]; then cp "$file" "$root/etc/pip.conf"; break; fi
done
chroot "$root" python3 -m venv /usr/local # python and pip where the official image has them
tar -C "$root" -c . | docker import -c 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' \
  -c 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt' -c 'CMD ["python3"]' \
  - python:3.11-slim >/dev/null
rm -rf "$root"
