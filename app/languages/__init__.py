"""Languages as data: one folder per parsed language, and the table of those that are only recognised."""
