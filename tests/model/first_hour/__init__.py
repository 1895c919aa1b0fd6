"""What trips new users: each mistake gives a clear error or a warning."""
