"""Tests of the sinks of tables in files."""
