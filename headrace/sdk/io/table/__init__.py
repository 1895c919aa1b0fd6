"""Writing to a table of a SQL database: elements as rows, net changes by key, a transaction per batch."""
