"""Execution in one process: operators, the executor, and what a run tells."""
