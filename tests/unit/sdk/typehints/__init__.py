"""Tests of headrace.sdk.typehints."""
