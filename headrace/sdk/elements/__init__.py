"""Elements as values: rows and their schemas, metadata, and which values can change."""
