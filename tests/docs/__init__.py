"""Tests of the documentation: its code runs, its output, links and commands are correct."""
