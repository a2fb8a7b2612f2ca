"""`python -m aligncheck`."""

import sys

from aligncheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
