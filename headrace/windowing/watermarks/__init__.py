"""Watermarks: policies, and the estimators that they create for each partition of a source."""
