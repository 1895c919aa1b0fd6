"""Where elements come from and go to: sources and sinks."""
