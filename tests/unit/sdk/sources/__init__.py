"""Tests of headrace.sdk.sources."""
