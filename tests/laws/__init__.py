"""The laws: what must hold for all streams, windows, triggers, modes and groupings in a row."""
