"""Planning, precombiner, and the local runner."""
