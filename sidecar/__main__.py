"""`python -m sidecar` is `agui-sidecar`."""

import sys

from sidecar.cli import main

sys.exit(main())
