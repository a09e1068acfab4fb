#!/bin/bash
# keep.sh STATE_DIR: a node for as long as somebody holds the other end of its standard input. Says so in STATE_DIR.ready.
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd); NODE=$1
trap '' INT TERM HUP   # it ends with its input, and then tidies up
down() { [ ! -d "$NODE" ] || "$HERE/nsdown.sh" "$NODE"; rm -rf "$NODE" "$NODE.ready"; }
down   # what a keeper that was itself killed left behind
if "$HERE/nsup.sh" "$NODE" </dev/null 7>&-; then touch "$NODE.ready"; cat >/dev/null; else tail -n 20 "$NODE"/log/*.log; touch "$NODE.failed"; fi
down
