"""Tests of headrace.sdk.metrics."""
