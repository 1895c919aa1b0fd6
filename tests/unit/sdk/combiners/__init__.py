"""Tests of headrace.sdk.combiners."""
