"""What resolution reads and writes: the facts of one file, and its edges."""

from app.domain.facts import FileFacts, ResolvedEdge, identify

__all__ = ["FileFacts", "ResolvedEdge", "identify"]
