"""The parser of the flags of option classes: argparse's, with flags whose values are providers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from shutil import get_terminal_size
from typing import Any

from headrace.sdk.options.value_provider import RuntimeValueProvider, StaticValueProvider


class OptionParser(argparse.ArgumentParser):
    """A parser that does not complete abbreviated flags and lets classes define a flag again.

    >>> parser = OptionParser()
    >>> parser.add_value_provider_argument("--wheels", type=int, default=1)
    >>> parser.parse_args(["--wheels=3"]).wheels.get()
    3
    >>> parser.parse_args([]).wheels.is_accessible()
    False
    """

    def __init__(self, **settings: Any) -> None:
        own = {"allow_abbrev": False, "conflict_handler": "resolve", "formatter_class": _formatter}
        super().__init__(**{**own, **settings})

    def add_value_provider_argument(self, *flags: str, **settings: Any) -> None:
        """Add a flag whose value is a ValueProvider: static if the flag is given, else of the run.

        Args:
            flags: names, as for ``add_argument``. A name without dashes names an optional
                positional argument.
            settings: as for ``add_argument``; ``type`` converts the value, ``default`` is the value if
                neither the program nor the run has the flag.
        """
        positional = not flags[0].startswith("-")
        name = next((flag for flag in flags if flag.startswith("--")), flags[0]).lstrip("-")
        value_type = settings.get("type") or str
        settings["type"] = _provider_type(value_type)
        settings["default"] = RuntimeValueProvider(
            name.replace("-", "_"), value_type, settings.get("default")
        )
        if positional:
            settings.setdefault("nargs", "?")
        self.add_argument(*flags, **settings)


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return a formatter of help; argparse makes one for each flag that is added."""
    return argparse.HelpFormatter(prog, width=_width())


@cache
def _width() -> int:
    return get_terminal_size().columns - 2


def _provider_type(value_type: Callable[[Any], object]) -> Callable[[str], StaticValueProvider]:
    def convert(value: str) -> StaticValueProvider:
        return StaticValueProvider(value_type, value)

    convert.__name__ = getattr(value_type, "__name__", "value")  # argparse shows it in errors
    return convert


class CommaSeparated(argparse.Action):
    """Collects values of a repeatable flag, each of them one or more items with commas between.

    An item ``name=key=value`` ends with the text: what follows it belongs to its value, as in Beam.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        items = [*(getattr(namespace, self.dest, None) or ())]
        setattr(namespace, self.dest, items + split_items(str(values)))


def split_items(text: str) -> list[str]:
    """Return the items of a text with commas between.

    >>> split_items("abc, level=3, keys=a=1,b=2")
    ['abc', 'level=3', 'keys=a=1,b=2']
    """
    items: list[str] = []
    for part in text.split(","):
        if items and items[-1].count("=") > 1:
            items[-1] += f",{part}"
        else:
            items.append(part.strip())
    return [item for item in items if item]


class Merged(argparse.Action):
    """Merges the dicts of a repeatable flag; of values for the same key, the last one remains."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest, None) or {}), **values})
