"""Tests of headrace.sdk.joins."""
