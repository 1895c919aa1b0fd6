"""Tests of changelogs as collections."""
