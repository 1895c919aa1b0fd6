"""Tests of headrace.sdk.options."""
