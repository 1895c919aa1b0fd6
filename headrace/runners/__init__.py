"""Runners: a plan of the graph, and ways to execute it. Each runner is a package here, found by name."""
