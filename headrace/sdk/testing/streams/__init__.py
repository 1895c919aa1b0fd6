"""Scripted sources, and pipelines for tests."""
