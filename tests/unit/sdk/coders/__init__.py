"""Tests of headrace.sdk.coders."""
