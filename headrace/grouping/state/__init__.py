"""The state of a key: contents of windows, parts, timers and panes that were emitted."""
