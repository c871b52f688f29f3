"""Where API and worker leave their numbers for each other. Imports no metrics: the place must be known before they exist."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Metrics of this process and its children are one set, kept in a fresh directory until the end."""
    if "prometheus_client" in sys.modules:
        raise RuntimeError("prometheus_client was imported before its directory was set")
    directory = tempfile.mkdtemp(prefix="fourfold-metrics-")
    os.environ[_VARIABLE] = directory
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE)
        shutil.rmtree(directory, ignore_errors=True)
