"""WHERE in event time: timestamps, windows, window functions and watermarks."""
