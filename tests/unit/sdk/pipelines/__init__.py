"""Tests of headrace.sdk.pipelines."""
