"""The field's own terms as plain frozen dataclasses; imports nothing of the project."""
