"""How well names are resolved, measured on public test sets (``python -m benchmarks.graph``)."""
