"""Sources and sinks: what Read reads and Write writes to."""
