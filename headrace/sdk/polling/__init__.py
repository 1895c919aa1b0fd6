"""Polling: outputs found by calling a function again and again, and elements at regular times."""
