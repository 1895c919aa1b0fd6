"""Flags of option classes: their parsers, the names of what is given, and values as flags."""

from __future__ import annotations

import json
import logging
import sys
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeAlias

import attrs

from headrace.sdk.options.option_parser import OptionParser
from headrace.sdk.options.value_provider import RuntimeValueProvider

Adder: TypeAlias = Callable[[ArgumentParser], None]


def flag_adders(cls: type) -> list[Adder]:
    """Return the flag adders of a class and of its bases that define ``_add_argparse_args``."""
    return [_FlagAdder(base) for base in cls.__mro__ if "_add_argparse_args" in vars(base)]


class _FlagAdder:
    """Adds the flags of a class; hashable, so that no class adds its flags twice."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __call__(self, parser: ArgumentParser) -> None:
        self._cls._add_argparse_args(parser)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FlagAdder) and self._cls is other._cls

    def __hash__(self) -> int:
        return hash(self._cls)


def with_subclasses(cls: type) -> Iterator[type]:
    """Iterate over the subclasses of a class, and theirs."""
    subclass: type
    for subclass in cls.__subclasses__():
        yield subclass
        yield from with_subclasses(subclass)


def parse(parser: OptionParser, flags: list[str]) -> dict[str, Any]:
    """Return the options that flags specify, by name, with lists and dicts of their own."""
    values = vars(parser.parse_known_args(flags)[0])
    return {name: _own(value) for name, value in values.items()}


def _own(value: object) -> object:
    return copy(value) if isinstance(value, (list, dict)) else value


def unknown_flags(parser: OptionParser, flags: list[str]) -> dict[str, Any]:
    """Return the unknown flags with their values as strings, or True if there is no value."""
    found: dict[str, Any] = {}
    rest = parser.parse_known_args(flags)[1]
    for flag, following in zip(rest, [*rest, "-"][1:], strict=True):
        name, equals, value = flag.partition("=")
        has_value = not equals and not following.startswith("-")
        if flag.startswith("--"):
            found[name[2:]] = value if equals else following if has_value else True
        elif flag.startswith("-") and not has_value:
            found[name[1:]] = True
    return found


def log_unknown_flags(parser: OptionParser, flags: list[str]) -> None:
    """Log a warning about each unknown flag."""
    for flag in unknown_flags(parser, flags):
        near = get_close_matches(f"--{flag}", parser._option_string_actions, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        logging.getLogger("headrace").warning("there is no flag --%s%s", flag, meant)


def parser_with(adders: Iterable[Adder]) -> OptionParser:
    """Return a parser of some flags."""
    parser = OptionParser(add_help=False)
    for add in adders:
        add(parser)
    return parser


def is_ours(cls: type) -> bool:
    """Return whether a class is one of Headrace, not of a program."""
    return cls.__module__.startswith("headrace.")


def own_parser(cls: type) -> OptionParser:
    """Return a parser of the flags of a class, for parsing only: a class of Headrace has one for all runs.

    A class of a program is asked each time, since its default values can come from anywhere.
    """
    return _made_once(cls) if is_ours(cls) else parser_with(flag_adders(cls))


@cache
def _made_once(cls: type) -> OptionParser:
    return parser_with(flag_adders(cls))


def parser_of(cls: type) -> OptionParser:
    """Return the parser of a class, which is empty if the class cannot be used."""
    try:
        return parser_with(flag_adders(cls))
    except Exception:
        return parser_with([])


def switches_of(root: type) -> dict[tuple[str, bool], str]:
    """Return the flag that gives an option a truth value, by the option's name and the value."""
    found = {}
    for cls in with_subclasses(root):
        for action in parser_of(cls)._actions:
            if isinstance(action, BooleanOptionalAction):
                off = (flag for flag in action.option_strings if flag.startswith("--no"))
                found[action.dest, True] = action.option_strings[0]
                found[action.dest, False] = next(off)
            if isinstance(action.const, bool):
                found[action.dest, action.const] = action.option_strings[0]
    return found


def as_flags(name: str, value: object, switches: dict[tuple[str, bool], str]) -> list[str]:
    """Return an option as flags; no flags if that is its value without them."""
    if value is None or isinstance(value, RuntimeValueProvider):
        return []
    if isinstance(value, bool):
        others = (name, not value) in switches
        flag = switches.get((name, value), "" if others or not value else f"--{name}")
        return [flag] if flag else []
    if isinstance(value, list):
        return [f"--{name}={item}" for item in value]
    return [f"--{name}={json.dumps(value) if isinstance(value, dict) else value}"]


@attrs.frozen
class GivenFlags:
    """The names of the flags and overrides that options were given.

    Attributes:
        names: the names, with underscores, without dashes in front.
        from_command_line: whether they are all flags of this process, which can also be for the program.

    >>> GivenFlags.of(["--key-groups=4", "--", "--x"], {"streaming": True}).names
    ('key_groups', 'streaming')
    """

    names: tuple[str, ...]
    from_command_line: bool

    @staticmethod
    def of(flags: list[str], overrides: Iterable[str]) -> GivenFlags:
        """Return the names in flags and overrides."""
        own = flags[: flags.index("--")] if "--" in flags else flags
        names = [flag_name(flag) for flag in own if str(flag).startswith("--")]
        return GivenFlags((*names, *overrides), not overrides and flags == sys.argv[1:])


def flag_name(flag: str) -> str:
    """Return the name of a flag, with underscores, without dashes in front."""
    return flag.partition("=")[0].lstrip("-").replace("-", "_")
