"""The protocol's public corpus: read where it lies, never copied here.

`AGUI_CORPUS` names its folder; without it, it is looked for beside the project. Where it is not there, the tests that
need it are skipped, which is a failure in CI.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "corpus"


def corpus() -> Path:
    """The folder of the corpus."""
    folder = Path(os.environ.get("AGUI_CORPUS") or BESIDE)
    if not (folder / "agui").is_dir():
        pytest.skip(f"the AG-UI corpus is not in {folder}; point AGUI_CORPUS at it")
    return folder


@cache
def schema_1_1() -> dict[str, Any]:
    """The JSON Schema of protocol 1.1, which adds one field to 1.0."""
    schema: dict[str, Any] = json.loads((corpus() / "agui" / "schema-1.1.json").read_text())
    return schema
