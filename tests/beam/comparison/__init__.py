"""The same questions to Headrace, Beam, Flink and Structured Streaming; each is answered by a run.

``questions.py`` has the data and the expected results. One module for each system has its programs.
``page.py`` writes the answers into docs/reference/comparison.md and the README.
"""
