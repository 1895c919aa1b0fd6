"""Options of Beam as ours: a program's flags are read by both."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs
from apache_beam.options.pipeline_options import PipelineOptions as BeamOptions
from apache_beam.options.value_provider import RuntimeValueProvider, ValueProvider

from headrace.sdk.options.option_flags import (
    flag_name,
    is_ours,
    parser_of,
    parser_with,
    with_subclasses,
)
from headrace.sdk.options.pipeline_options import PipelineOptions, known_flags

_SPARK: Final = "headrace.runners.spark.cluster.options"
"""The module of the flags of the Spark runner, which is looked up by name, as the runner is."""

_OF_BEAM: Final = ("runner", "headrace_runner", "experiments")
"""The options that name the runner, and one that Beam sets by itself."""

_BEAMS: Final = "apache_beam."
"""The start of the names of Beam's modules."""

_KNOWN: Final[WeakKeyDictionary[Any, frozenset[str]]] = WeakKeyDictionary()
"""The names of the options of each class, while the class is there: Beam reads the options of all classes."""


class HeadraceOptions(BeamOptions):
    """The options of Headrace in a program of Beam.

    ``--headrace_runner`` names the runner of Headrace. Its other flags (``--checkpoint``, ``--report``,
    ``--serve``, …) are written as in a program of Headrace. A name that another class of options has stays
    with that class. ``--kafka_idle_seconds`` is for Beam's transforms of Kafka only.
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
        parser.add_argument(
            "--kafka_idle_seconds",
            "--kafka-idle-seconds",
            type=float,
            default=2.0,
            metavar="SECONDS",
            help="seconds without records after which the watermark of a partition of Kafka follows the "
            "clock, as in Beam; 0 lets it wait for records",
        )
        taken = _names(parser).union(*map(_names_of, _other_classes()))
        for action in _own_actions():
            names = {*action.option_strings, action.dest}
            if taken.isdisjoint(names):
                parser._add_action(action)
                taken |= names


def _other_classes() -> Iterator[Any]:
    """Iterate over the classes of options of Beam and of the program."""
    return (cls for cls in BeamOptions.__subclasses__() if cls is not HeadraceOptions)


def _names_of(cls: Any) -> frozenset[str]:
    """Return the flags of a class of options of Beam, and the names of its options."""
    if cls not in _KNOWN:
        _KNOWN[cls] = frozenset(_names(parser_with([cls._add_argparse_args])))
    return _KNOWN[cls]


def _names(parser: ArgumentParser) -> set[str]:
    """Return the flags of a parser, and the names of its options."""
    return {name for action in parser._actions for name in (*action.option_strings, action.dest)}


def _own_actions() -> Iterator[Action]:
    """Iterate over the flags of all classes of options in this package."""
    import_module(_SPARK)
    classes = [cls for cls in with_subclasses(PipelineOptions) if is_ours(cls)]
    return (action for cls in classes for action in _actions_of(cls))


@cache
def _actions_of(cls: type) -> tuple[Action, ...]:
    """Return the flags of a class of options of ours."""
    return tuple(parser_of(cls)._actions)


def runner_name(options: Any) -> str:
    """Return the name of the runner of Headrace."""
    return str(options.view_as(HeadraceOptions).headrace_runner)


def own_options(options: Any) -> PipelineOptions:
    """Return the options of a program as ours.

    Flags that Headrace has pass as they are written; those that the program declares are its own, and do not.
    What the program has set by name passes, too, if Headrace has it.
    """
    written = sys.argv[1:] if options._flags is None else list(map(str, options._flags))
    names = _names_here(options)
    set_by_name = options.get_all_options(drop_default=True, retain_unknown_options=True)
    others = names.difference(map(flag_name, written))
    given = {name: value for name, value in set_by_name.items() if name in others}
    return PipelineOptions(_flags_of(names, written), **{**given, "pipeline_type_check": False})


def _names_here(options: Any) -> set[str]:
    """Return the names of the options that the program leaves to Headrace."""
    options.view_as(HeadraceOptions)  # imports all classes of ours
    programs = (cls for cls in _other_classes() if not cls.__module__.startswith(_BEAMS))
    declared = (flag_name(name) for cls in programs for name in _names_of(cls))
    return set(known_flags()).difference(_OF_BEAM, declared)


def _flags_of(names: set[str], flags: list[str]) -> list[str]:
    """Return the flags with some names, each with the values that follow it."""
    kept, keeps = [], False
    for flag in flags:
        if flag.startswith("--"):
            keeps = flag_name(flag) in names
        if keeps:
            kept.append(flag)
    return kept


@attrs.frozen
class RuntimeOptions:
    """The options of a run, which Beam keeps in each process that calls a program's functions.

    Runtime value providers and Beam's file systems read them there. What is sent to workers has these as a
    part, and when it arrives, the options are set.

    Attributes:
        given: the options by name, as plain values.
    """

    given: Mapping[str, Any]

    @staticmethod
    def begin(options: Any) -> None:
        """Set the options of a run in this process."""
        given = options.get_all_options(drop_default=True)
        plain = {name: _plain(value) for name, value in given.items()}
        RuntimeValueProvider.set_runtime_options(
            {name: value for name, value in plain.items() if value is not None}
        )

    @staticmethod
    def current() -> RuntimeOptions:
        """Return the options that are set in this process."""
        return RuntimeOptions(RuntimeValueProvider.runtime_options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (dict(self.given),)


def _arrived(given: Mapping[str, Any]) -> RuntimeOptions:
    RuntimeValueProvider.set_runtime_options(given)
    return RuntimeOptions(given)


def _plain(value: Any) -> Any:
    """Return the value of an option, if a worker can get it; else None."""
    if isinstance(value, ValueProvider):
        value = value.get() if value.is_accessible() else None
    return value if isinstance(value, (str, int, float, list, tuple, dict)) else None
