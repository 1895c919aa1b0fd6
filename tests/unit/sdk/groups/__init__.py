"""Tests of headrace.sdk.groups."""
