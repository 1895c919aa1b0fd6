"""Files by destination, window and pane (Beam's WriteToFiles)."""
