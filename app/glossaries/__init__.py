"""Words of programming in other languages, with the English words that stand for them in code: data."""
