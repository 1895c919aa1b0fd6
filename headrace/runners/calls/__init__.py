"""Calls of functions and DoFns on bundles, and checks of what they change."""
