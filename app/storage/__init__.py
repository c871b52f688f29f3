"""PostgreSQL: tables, connections, generations, the writer, the queue, the embedded server."""
