"""Runs programs of ``apache_beam`` unmodified, and judges Beam runners (``headrace[beam]``)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import require_extra as _require_extra
from headrace.sdk.beam.judge.check_runner import check_runner
from headrace.sdk.beam.judge.judge_report import BeamReport, BeamVerdict

if TYPE_CHECKING:
    from headrace.sdk.beam.programs.retractions import BeamToChangelog as ToChangelog, retracting
    from headrace.sdk.beam.programs.runner import HeadraceRunner

__all__ = [
    "BeamReport",
    "BeamVerdict",
    "HeadraceRunner",
    "ToChangelog",
    "check_runner",
    "retracting",
]

_HOMES: Final = {
    "HeadraceRunner": ("headrace.sdk.beam.programs.runner", "HeadraceRunner"),
    "ToChangelog": ("headrace.sdk.beam.programs.retractions", "BeamToChangelog"),
    "retracting": ("headrace.sdk.beam.programs.retractions", "retracting"),
}


def __getattr__(name: str) -> Any:
    """Import a name when it is needed, since it needs ``apache_beam``."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _require_extra("apache_beam", "beam", "programs of apache_beam run on Headrace")
    module, own_name = home
    return getattr(import_module(module), own_name)
