"""Splittable DoFns: restrictions, their trackers and watermark estimators, and what a DoFn declares."""
