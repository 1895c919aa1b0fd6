"""Tests of serdes, with a schema registry that the tests start."""
