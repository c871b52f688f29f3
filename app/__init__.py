"""Fourfold: answers any question about code by choosing the right retriever for it."""

__version__ = "0.1.0"
