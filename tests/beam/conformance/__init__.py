"""The published figures as programs, on Headrace and on Beam's local runners.

`python -m tests.beam.conformance` writes docs/reference/conformance.md and docs/reference/capabilities.md.
"""
