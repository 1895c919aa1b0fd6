"""Deliberate differences from Beam: the same programs on both, one test per section of the page.

The page is docs/reference/differences.md. Streams run on Beam's bundle-based local runner, batches on its
FnApiRunner.
"""
