"""Event time and processing time: timestamps and durations, and their other forms."""

from headrace.windowing.time import scaled as scaled  # completes Timestamp with other precisions
