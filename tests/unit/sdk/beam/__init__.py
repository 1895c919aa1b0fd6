"""Tests of headrace.sdk.beam."""
