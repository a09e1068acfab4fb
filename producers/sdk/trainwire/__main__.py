"""`python -m trainwire`."""

import sys

from trainwire.cli import main

sys.exit(main())
