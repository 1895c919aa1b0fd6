"""Tests beside Beam: its trigger code, its runners and its own tests."""
