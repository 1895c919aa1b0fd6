"""The published figures as programs, on Headrace and on Beam's local runners.

`python -m tests.conformance` writes docs/reference/conformance.md and docs/reference/capabilities.md.
"""
