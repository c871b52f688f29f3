"""One module per noun; each says which problems its calls answer with."""
