"""`python -m worldline.rehearsal`."""

import sys

from worldline.rehearsal.cli import main

sys.exit(main(sys.argv[1:]))
