"""The four retrievers, one module each: SQL reads, every one on its own connection."""
