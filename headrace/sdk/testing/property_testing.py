"""Imports Hypothesis, with a clear error if it is not installed; other modules import it from here."""

from __future__ import annotations

try:
    from hypothesis import HealthCheck, Phase, assume, given, seed, settings, strategies as st
    from hypothesis.errors import HypothesisException, HypothesisWarning
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "headrace.testing.strategies and headrace.testing.laws draw random cases with Hypothesis, "
        "which is not installed\n  what to do: pip install 'headrace[testing]'"
    ) from missing

__all__ = [
    "HealthCheck",
    "HypothesisException",
    "HypothesisWarning",
    "Phase",
    "assume",
    "given",
    "seed",
    "settings",
    "st",
]
