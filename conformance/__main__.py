"""`python -m conformance` is `agui-conformance`."""

import sys

from conformance.command.cli import main

sys.exit(main())
