"""`python -m planc`."""

import sys

from planc.commands.main import main

sys.exit(main())
