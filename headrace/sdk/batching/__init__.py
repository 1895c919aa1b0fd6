"""Several elements at once: batches, windows by count, deduplication, and calls in the background."""
