"""Formats of files, with the transforms that read and write them."""
