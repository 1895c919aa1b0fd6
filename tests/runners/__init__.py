"""Planning, gathering, and the local runner."""
