#!/bin/bash
# run.sh COMMAND…: runs it with a node at hand, and leaves nothing of either behind, however they end. Its exit code is the command's.
# The command finds the node's folder in TRAINWIRE_TEST_NODE (kubeconfig, pki) and its programs in TRAINWIRE_TEST_NODE_PROGRAMS. It
# runs in a process namespace: with it ends, by the kernel, all that it started. The node is kept by a program that waits for this
# one's end of a pipe to close, so that it is taken down also when this one is killed. One node a machine: others wait.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$HERE/install.sh"
"$HERE/check.sh"
BIN=$("$HERE/build.sh"); export BIN
IMAGE=$(dirname "$BIN")/viewers.tar
"$HERE/images.sh" "$IMAGE"
export IMAGES="$BIN/pause.tar $IMAGE" STORE=$BIN/containerd
NODE=$BIN/node/n0
exec 7>"$BIN/node.lock"
flock -n 7 || { echo "another session has the node of this machine; waiting for it …" >&2; flock 7; }
mkdir -p "$BIN/node"; rm -f "$NODE.ready" "$NODE.failed"
exec 8> >(exec setsid "$HERE/keep.sh" "$NODE" >&2); KEEPER=$!   # it holds the lock too, until all is tidy
until [ -f "$NODE.ready" ]; do
  [ ! -f "$NODE.failed" ] || { wait "$KEEPER" || true; echo "the node did not come up: why is told above" >&2; exit 1; }
  sleep 0.1
done
code=0
TRAINWIRE_TEST_NODE=$NODE TRAINWIRE_TEST_NODE_PROGRAMS=$BIN \
  setpriv --pdeathsig KILL unshare --pid --mount-proc --fork --kill-child "$@" 7>&- 8>&- || code=$?
exec 8>&-
wait "$KEEPER" || true
exit "$code"
