"""Measures how good the ranking is and how fast the service is, beside other tools. ``python -m benchmarks --help``."""
