"""Event time and processing time: timestamps and durations, and their other forms."""
