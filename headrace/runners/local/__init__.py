"""The local runner: in memory, one process, no Java; the default and the reference."""

from headrace.runners.local.runner import LocalRun, run

__all__ = ["LocalRun", "run"]
