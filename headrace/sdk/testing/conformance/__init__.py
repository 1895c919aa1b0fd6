"""The check of a runner with random pipelines, and its report."""
