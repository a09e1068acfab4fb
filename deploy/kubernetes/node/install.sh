#!/bin/bash
# install.sh: what a node takes from Debian, where it is missing. Needs root.
set -euo pipefail
need=(); for c in containerd:containerd runc:runc iptables:iptables openssl:openssl ip:iproute2 curl:curl /usr/lib/cni/bridge:containernetworking-plugins /usr/bin/time:time; do
  command -v "${c%%:*}" >/dev/null || need+=("${c##*:}"); done
[ ${#need[@]} -eq 0 ] || { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" >&2; }
