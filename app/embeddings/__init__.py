"""Embedders: text to bits; and what is embedded of a chunk."""
