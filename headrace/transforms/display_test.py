"""The matcher of display data for tests, under Beam's name for the module; there are no tests in it."""

from headrace.sdk.testing.hamcrest_matchers import DisplayDataItemMatcher

__all__ = ["DisplayDataItemMatcher"]
