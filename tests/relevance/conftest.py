"""The corpus holds tests of its own, which are there to be found, not to be run."""

collect_ignore = ["corpus"]
