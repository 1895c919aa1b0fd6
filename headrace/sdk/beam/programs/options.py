"""Options of Beam as ours: a program's flags are read by both."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, Final

from apache_beam.options.pipeline_options import PipelineOptions as BeamOptions

from headrace.sdk.options.pipeline_options import PipelineOptions, known_flags

_OF_BEAM: Final = ("runner", "headrace_runner", "experiments")
"""The options that name the runner, and one that Beam sets by itself."""


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

    Flags pass as they are written. What the program has set by name passes, too, if Headrace has it.
    """
    flags = [str(flag) for flag in options._flags or () if _name(flag) not in _OF_BEAM]
    written = {_name(flag) for flag in options._flags or ()}
    set_by_name = options.get_all_options(drop_default=True, retain_unknown_options=True)
    names = known_flags() - written - set(_OF_BEAM)
    given = {name: value for name, value in set_by_name.items() if name in names}
    return PipelineOptions(flags, **{**given, "pipeline_type_check": False})


def _name(flag: object) -> str:
    """Return the name of a flag, with underscores."""
    return str(flag).lstrip("-").partition("=")[0].replace("-", "_")
