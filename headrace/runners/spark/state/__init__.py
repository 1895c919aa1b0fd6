"""State: keyed operators in chunks in Spark's state store, and what a checkpoint says of its pipeline."""
