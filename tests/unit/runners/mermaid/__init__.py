"""Mermaid flowcharts: a small grammar in Python, and Mermaid's own parser through node."""
