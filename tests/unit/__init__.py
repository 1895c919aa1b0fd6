"""Tests of modules; the folders are those of the package."""
