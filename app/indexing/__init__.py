"""The write path: one stage per module, in the order of ``pipeline.py``."""
