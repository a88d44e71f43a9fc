"""`python -m conformance` is `agui-conformance`."""

import sys

from conformance.cli import main

sys.exit(main())
