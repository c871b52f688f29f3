"""The read path: one step per module, ``pipeline`` reads as the algorithm."""
