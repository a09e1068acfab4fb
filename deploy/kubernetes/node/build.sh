#!/bin/bash
# build.sh: builds a Kubernetes node's programs from the Go module proxy alone, once, into a cache outside the checkout, and
# prints that folder. Keyed on everything that decides what comes out, so that a changed recipe builds anew.
#   k8sbins    etcd v3.7.0; kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy and kubectl v1.37.2;
#              cri-sweep: one static binary, each program by the name that it is called by
#   pause.tar  the pause container's image
# containerd 1.6, runc, the CNI plugins and iptables are Debian 12's (install.sh).
# About 1,800 CPU seconds cold; GOMAXPROCS and nice(1) of the caller decide how much it takes of the machine.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd); cd "$HERE"
KEY=$(cat build.sh go.mod go.sum cmd/k8sbins/main.go pause/main.go image.py | sha256sum | cut -c1-16)
CACHE=${TRAINWIRE_TEST_KUBERNETES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainwire/kubernetes}
OUT=$CACHE/$KEY
if [ -f "$OUT/.built" ]; then echo "$OUT"; exit 0; fi
mkdir -p "$OUT"; exec 9>"$OUT/.lock"; flock 9   # two sessions build it once
if [ -f "$OUT/.built" ]; then echo "$OUT"; exit 0; fi
echo "building a Kubernetes node into $OUT (15 to 30 minutes the first time) …" >&2
K=v1.37.2; LD="-s -w"   # without the -X the servers call themselves v0.0.0-master+$Format
for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  LD="$LD -X $p.gitVersion=$K -X $p.gitMajor=1 -X $p.gitMinor=37 -X $p.gitTreeState=clean -X $p.gitCommit=go-proxy -X $p.buildDate=1970-01-01T00:00:00Z"
done
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -buildvcs=false"
go build -trimpath -ldflags "$LD" -o "$OUT/k8sbins" ./cmd/k8sbins >&2
for n in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl cri-sweep; do ln -sf k8sbins "$OUT/$n"; done
(cd pause && go build -trimpath -ldflags "-s -w" -o "$OUT/pause" .) >&2
python3 image.py localhost/pause:latest "$OUT/pause.tar" /pause "$OUT/pause=/pause"
touch "$OUT/.built"
echo "$OUT"
