"""Classifier rules as data: ``any.toml`` for what is the same in every language, one further file per human language."""
