"""Options of Beam as ours: a program's flags are read by both."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, Final

from apache_beam.options.pipeline_options import (
    PipelineOptions as BeamOptions,
    StandardOptions as BeamStandard,
    TypeOptions as BeamTypes,
)

from headrace.sdk.options.pipeline_options import PipelineOptions

_OF_BEAM: Final = ("runner", "headrace_runner")
"""The options that name the runner."""


class HeadraceOptions(BeamOptions):
    """The options of Headrace in a program of Beam.

    ``--headrace_runner`` names the runner of Headrace. Its other flags (``--checkpoint``, ``--report``,
    ``--serve``, …) are written as in a program of Headrace.
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--headrace_runner",
            "--headrace-runner",
            choices=("local", "spark"),
            default="local",
            help="the runner of Headrace: local (in memory) or spark",
        )


def runner_name(options: Any) -> str:
    """Return the name of the runner of Headrace."""
    return str(options.view_as(HeadraceOptions).headrace_runner)


def own_options(options: Any) -> PipelineOptions:
    """Return the options of a program as ours.

    Flags of Headrace pass as they are written, and what the program has set in Beam's options by name.
    """
    given = {
        name: value
        for name, value in options._all_options.items()
        if name not in _OF_BEAM and name in _PASSED
    }
    flags = [flag for flag in options._flags or () if not _names_runner(flag)]
    own = PipelineOptions(flags, **_set_by_name(options, given))
    return own


_PASSED: Final = ("streaming", "allow_unsafe_triggers", "job_name")


def _names_runner(flag: Any) -> bool:
    return str(flag).lstrip("-").replace("-", "_").partition("=")[0] in _OF_BEAM


def _set_by_name(options: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that both have, with the values that Beam has for them."""
    standard, types = options.view_as(BeamStandard), options.view_as(BeamTypes)
    shared = {
        "streaming": bool(standard.streaming),
        "allow_unsafe_triggers": bool(types.allow_unsafe_triggers),
    }
    return {**given, **shared, "pipeline_type_check": False}
