"""What operators see: metrics and log lines. Neither ever carries a query, a path or a repository's name as a label."""
