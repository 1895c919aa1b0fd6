"""The local runner: in memory, in one process, without Java; the default, and the reference for others."""

from headrace.runners.local.runner import LocalRun, run
from headrace.runners.plan.explain import explain

__all__ = ["LocalRun", "explain", "run"]
