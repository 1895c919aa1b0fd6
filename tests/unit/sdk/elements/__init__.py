"""Tests of headrace.sdk.elements."""
