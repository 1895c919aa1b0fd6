"""Assertions about the elements of collections, and captures of them."""
