"""Tests of the model on each runner: its semantics, published figures, and a newcomer's first hour."""
