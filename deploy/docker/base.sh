#!/bin/bash
# base.sh: a local stand-in for the python:3.11-slim base image, on the Docker Engine at hand, where no image registry is
# reached. Needs root and Debian. Does nothing where the image is there.
set -euo pipefail
docker image inspect python:3.11-slim >/dev/null 2>&1 && exit 0
docker pull -q python:3.11-slim >/dev/null 2>&1 && exit 0
work=$(mktemp -d -p /var/tmp) # /tmp may refuse the devices of a root file system
trap 'rm -rf "$work"' EXIT
root=$work/rootfs
if ! command -v debootstrap >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >"$work/apt.log" 2>&1
fi
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$root" >"$work/debootstrap.log" 2>&1 ||
  { tail -5 "$work/debootstrap.log" >&2; exit 1; }
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
