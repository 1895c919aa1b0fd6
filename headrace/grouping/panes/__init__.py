"""Panes: when they are emitted, with which values, timestamps and watermark holds."""
