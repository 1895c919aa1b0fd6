"""The graph of a pipeline, and how it is built and run."""
