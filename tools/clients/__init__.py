"""Clients made from the interface's document, and what is asked with them."""
