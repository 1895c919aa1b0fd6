"""The local runner: in memory, in one process, without Java; the default, and the reference for others."""

from headrace.runners.explain import explain
from headrace.runners.local.runner import LocalRun, run

__all__ = ["LocalRun", "explain", "run"]
