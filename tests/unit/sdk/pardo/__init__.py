"""Tests of headrace.sdk.pardo."""
