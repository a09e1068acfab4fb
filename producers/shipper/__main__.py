"""`trainwire-shipper`."""

from __future__ import annotations

import os
import sys

from producers.shipper.app import run


def main() -> None:
    sys.exit(run(sys.argv[1:], os.environ))


if __name__ == "__main__":
    main()
