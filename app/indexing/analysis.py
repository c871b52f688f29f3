"""What the stages of the write path hand to each other."""

from app.domain.analysis import FileAnalysis, SkippedFile, SourceFile, TermCounts

__all__ = ["FileAnalysis", "SkippedFile", "SourceFile", "TermCounts"]
