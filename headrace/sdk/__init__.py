"""WHAT: pipelines, collections, transforms, sources and sinks, options and metrics."""
