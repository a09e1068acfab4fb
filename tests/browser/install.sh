#!/bin/bash
# Chromium and its driver, from Debian's packages, where they are missing and this user may install them.
set -euo pipefail
command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium and chromium-driver …"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null
else
  echo "the browser tests need Chromium; install it with:  sudo apt-get install chromium chromium-driver" >&2
  exit 2
fi
