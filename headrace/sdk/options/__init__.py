"""Options of pipelines, from flags or by name."""
