"""Options of Beam as ours: a program's flags are read by both."""

from __future__ import annotations

from argparse import Action, ArgumentParser
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from apache_beam.options.pipeline_options import PipelineOptions as BeamOptions

from headrace.sdk.options.option_flags import parser_of, with_subclasses
from headrace.sdk.options.pipeline_options import PipelineOptions, known_flags

_SPARK: Final = "headrace.runners.spark.cluster.options"
"""The module of the flags of the Spark runner, which is looked up by name, as the runner is."""

_OF_BEAM: Final = ("runner", "headrace_runner", "experiments")
"""The options that name the runner, and one that Beam sets by itself."""

_OURS: Final = "headrace."
"""The start of the names of the modules of this package."""


class HeadraceOptions(BeamOptions):
    """The options of Headrace in a program of Beam.

    ``--headrace_runner`` names the runner of Headrace. Its other flags (``--checkpoint``, ``--report``,
    ``--serve``, …) are written as in a program of Headrace. A name that another class of options has stays
    with that class.
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
        taken = _names(parser).union(*(_names_of(cls, parser) for cls in _other_classes()))
        for action in _own_actions():
            names = {*action.option_strings, action.dest}
            if taken.isdisjoint(names):
                parser._add_action(action)
                taken |= names


def _other_classes() -> Iterator[Any]:
    """Iterate over the classes of options of Beam and of the program."""
    return (cls for cls in BeamOptions.__subclasses__() if cls is not HeadraceOptions)


def _names_of(cls: Any, parser: ArgumentParser) -> set[str]:
    """Return the names in a class of options; the parser has the class of Beam's parsers."""
    own = type(parser)(add_help=False)
    cls._add_argparse_args(own)
    return _names(own)


def _names(parser: ArgumentParser) -> set[str]:
    """Return the flags of a parser, and the names of its options."""
    return {name for action in parser._actions for name in (*action.option_strings, action.dest)}


def _own_actions() -> Iterator[Action]:
    """Iterate over the flags of all classes of options in this package."""
    import_module(_SPARK)
    classes = [cls for cls in with_subclasses(PipelineOptions) if cls.__module__.startswith(_OURS)]
    return (action for cls in classes for action in parser_of(cls)._actions)


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
