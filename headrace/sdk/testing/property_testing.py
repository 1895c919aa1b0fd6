"""Hypothesis, or a word on how to get it; the modules that need it import it from here."""

from __future__ import annotations

try:
    from hypothesis import HealthCheck, Phase, assume, given, seed, settings
    from hypothesis import strategies as st
    from hypothesis.errors import HypothesisWarning
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "headrace.testing.strategies and headrace.testing.laws draw random cases with Hypothesis, "
        "which is not installed\n  what to do: pip install 'headrace[testing]'"
    ) from missing

__all__ = [
    "HealthCheck",
    "HypothesisWarning",
    "Phase",
    "assume",
    "given",
    "seed",
    "settings",
    "st",
]
