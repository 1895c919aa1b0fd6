"""State: chunks of keyed state in Spark's state store, and the manifest of a checkpoint."""
