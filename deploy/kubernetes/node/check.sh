#!/bin/bash
# check.sh: says what this machine lacks for a node, all of it, and exits 1 where anything is. After install.sh.
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${TRAINWIRE_TEST_KUBERNETES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainwire/kubernetes}; mkdir -p "$CACHE"
lacks=0; lack() { echo "no Kubernetes node can run here: $*" >&2; lacks=1; }
[ "$(id -u)" = 0 ] || { lack "it needs root"; exit 1; }
for hierarchy in cpu cpuset memory pids devices; do
  d=/sys/fs/cgroup/$hierarchy/ktest-check-$$
  { mkdir "$d" && rmdir "$d"; } 2>/dev/null || lack "cgroup version 1 with a writable $hierarchy hierarchy under /sys/fs/cgroup is missing (there is: $(stat -fc %T /sys/fs/cgroup))"
done
unshare --mount --pid --fork --mount-proc --net true 2>/dev/null || lack "namespaces for mounts, processes and networks are not allowed"
{ ip link add kcheck0 type veth peer name kcheck1 && ip link del kcheck0; } 2>/dev/null || lack "virtual network devices (veth) cannot be made"
unshare --net sh -c 'ip link add kcheck0 type bridge && iptables -w -t nat -A POSTROUTING -m comment --comment x -j MASQUERADE' 2>/dev/null ||
  lack "bridges, or iptables with masquerading, do not work in a network namespace"
o=$(mktemp -d "$CACHE/check.XXXXXX") || { lack "$CACHE cannot be written to"; exit 1; }
mkdir "$o"/{low,up,work,all}
unshare --mount mount -t overlay overlay -o "lowerdir=$o/low,upperdir=$o/up,workdir=$o/work" "$o/all" 2>/dev/null ||
  lack "overlay file systems cannot be mounted in $CACHE: let TRAINWIRE_TEST_KUBERNETES_CACHE name a folder on a plain disk"
rm -rf "$o"
if ! ls -d "$CACHE"/*/node/n0 >/dev/null 2>&1; then   # one that was left there is taken down before the next
  for net in 10.244.0 10.96.0; do
    taken=$(ip -4 route show to match "$net.1" | grep -v ^default)
    [ -z "$taken" ] || lack "its addresses ($net.0/24) are in use: $taken"
  done
fi
if ! ls "$CACHE"/*/.built >/dev/null 2>&1; then   # it will be built, perhaps
  wanted=$(sed -n 's/^go \([0-9.]*\)$/\1/p' "$HERE/go.mod")
  have=$(go env GOVERSION 2>/dev/null | sed 's/^go//') || true
  [ "$(printf '%s\n' "$wanted" "${have:-0}" | sort -V | head -1)" = "$wanted" ] || lack "Go $wanted or later is needed to build it (there is: ${have:-none})"
  [ "$(df --output=avail -BM "$CACHE" | tail -1 | tr -dc 0-9)" -gt 6000 ] || lack "6 GB of disk under $CACHE are needed to build it"
  [ "$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)" -gt 3500 ] || lack "3.5 GB of free memory are needed to build it"
fi
exit $lacks
