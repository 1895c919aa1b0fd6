"""Assertions for unittest, under Beam's name for the module."""

from headrace.sdk.testing.extra_assertions import ExtraAssertionsMixin

__all__ = ["ExtraAssertionsMixin"]
