"""Options of pipelines, from flags in argparse's style; subclasses add flags, as in Beam.

All views of the same options share one dictionary, so an option that is set through one view is visible
in all of them.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import attrs

from headrace.errors import PipelineError

OptionsT = TypeVar("OptionsT", bound="PipelineOptions")


class PipelineOptions:
    """Options of a pipeline; a subclass adds its own flags in ``_add_argparse_args``.

    Args:
        flags: flags as on a command line; by default those of this process. Unknown flags are kept and
            have no effect; a run warns about those that look misspelled.
        overrides: options by name, which override flags.

    >>> class Mill(PipelineOptions):
    ...     @classmethod
    ...     def _add_argparse_args(cls, parser):
    ...         parser.add_argument("--wheels", type=int, default=1)
    >>> options = PipelineOptions(["--wheels=3", "--streaming"])
    >>> options.view_as(Mill).wheels, options.view_as(StandardOptions).streaming
    (3, True)
    """

    def __init__(self, flags: Iterable[str] | None = None, **overrides: Any) -> None:
        if isinstance(flags, str):
            raise PipelineError(
                f"the flags are a single string: {flags!r}", remedy="pass a list of flags"
            )
        self._flags: list[str] = sys.argv[1:] if flags is None else list(flags)
        self._given = GivenFlags.of(self._flags, overrides)
        self._values: dict[str, Any] = overrides
        self._visible: frozenset[str] = frozenset()
        self._parse_own()

    def _parse_own(self) -> None:
        own = _parse(_flag_adders(type(self)), self._flags)
        for name, value in own.items():
            self._values.setdefault(name, value)
        self._visible = frozenset(own)

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        """Add flags to a parser; for subclasses to override."""

    @classmethod
    def from_dictionary(cls: type[OptionsT], options: dict[str, Any]) -> OptionsT:
        """Create options from values by name.

        >>> PipelineOptions.from_dictionary({"streaming": True}).view_as(StandardOptions).streaming
        True
        """
        return cls([flag for name, value in options.items() for flag in _as_flags(name, value)])

    def view_as(self, cls: type[OptionsT]) -> OptionsT:
        """Return a view of these options as another class; values are shared."""
        view = cls.__new__(cls)
        object.__setattr__(view, "_flags", self._flags)
        object.__setattr__(view, "_given", self._given)
        object.__setattr__(view, "_values", self._values)
        view._parse_own()
        return view

    def get_all_options(
        self,
        drop_default: bool = False,
        add_extra_args_fn: Callable[[ArgumentParser], None] | None = None,
        retain_unknown_options: bool = False,
        display_warnings: bool = False,
        current_only: bool = False,
    ) -> dict[str, Any]:
        """Return all options by name.

        Args:
            drop_default: whether to omit options that have their default value.
            add_extra_args_fn: adds more flags to the parser.
            retain_unknown_options: whether to include unknown flags and overrides.
            display_warnings: ignored; accepted for compatibility with Beam.
            current_only: whether to return only the options of this class.

        >>> PipelineOptions(["--runner=spark"]).get_all_options(drop_default=True)
        {'runner': 'spark'}
        """
        adders = _flag_adders(type(self))
        if not current_only:
            adders = [a for cls in _with_subclasses(PipelineOptions) for a in _flag_adders(cls)]
        adders = list(dict.fromkeys([*adders, *([add_extra_args_fn] if add_extra_args_fn else [])]))
        defaults = _parse(adders, [])
        known = _parse(adders, self._flags)
        result = {name: self._values.get(name, value) for name, value in known.items()}
        if retain_unknown_options:
            result.update(_unknown(adders, self._flags))
            result.update(self._values)
        if drop_default:
            result = {n: v for n, v in result.items() if n not in defaults or v != defaults[n]}
        return result

    def __getattr__(self, name: str) -> Any:
        """Return the value of an option of this class."""
        if not name.startswith("_") and name in self._visible:
            return self._values[name]
        raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the value of an option of this class, for all views."""
        if name in ("_flags", "_given", "_values", "_visible"):
            object.__setattr__(self, name, value)
        elif name in self._visible:
            self._values[name] = value
        else:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __dir__(self) -> list[str]:
        """List methods and options."""
        return sorted({*super().__dir__(), *self._visible})

    def __repr__(self) -> str:
        """Show the options of this class."""
        shown = ", ".join(f"{name}={self._values[name]!r}" for name in sorted(self._visible))
        return f"{type(self).__name__}({shown})"


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
        names = [_flag_name(flag) for flag in own if str(flag).startswith("--")]
        return GivenFlags((*names, *overrides), not overrides and flags == sys.argv[1:])


def given_flags(options: PipelineOptions) -> GivenFlags:
    """Return the flags and overrides that options, or the options that they are a view of, were given."""
    return options._given


def known_flags() -> frozenset[str]:
    """Return the names of the flags of all classes of options, with underscores.

    >>> "max_records_per_batch" in known_flags()
    True
    """
    names: set[str] = set()
    for cls in _with_subclasses(PipelineOptions):
        try:
            parser = _parser(_flag_adders(cls))
        except Exception:  # a class that cannot be used knows no flags
            continue
        names.update(action.dest for action in parser._actions)
        names.update(parser._defaults)  # of options that can be set by name only
        names.update(map(_flag_name, parser._option_string_actions))
    return frozenset(names)


def _flag_name(flag: str) -> str:
    return flag.partition("=")[0].lstrip("-").replace("-", "_")


class StandardOptions(PipelineOptions):
    """Options of every pipeline: runner, mode, progress, and the size of streaming rounds.

    >>> options = StandardOptions(["--runner=local", "--streaming"])
    >>> options.runner, options.streaming, options.max_records_per_batch
    ('local', True, 10000)
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--runner",
            help="local (the default, in memory) or spark (needs headrace[spark] and Java 17)",
        )
        parser.add_argument("--streaming", action="store_true", help="run in streaming mode")
        parser.add_argument("--progress", action="store_true", help="show a progress bar")
        parser.add_argument(
            "--max_records_per_batch",
            "--max-records-per-batch",
            type=int,
            default=10_000,
            help="in streaming mode, maximum number of records to read from a partition at once",
        )
        parser.add_argument(
            "--check_mutation",
            "--check-mutation",
            action=BooleanOptionalAction,
            default=None,
            help="raise an error if a function changes its input; TestPipeline checks by default",
        )
        parser.add_argument(
            "--until_caught_up",
            "--until-caught-up",
            action="store_true",
            help="in streaming mode, read the records that exist when the run starts, then drain it",
        )


class TypeOptions(PipelineOptions):
    """Options for the checks while a pipeline is built: ``--allow_unsafe_triggers``.

    >>> TypeOptions(["--allow_unsafe_triggers"]).allow_unsafe_triggers
    True
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--allow_unsafe_triggers",
            action="store_true",
            help="allow triggers that may finish before all data has arrived, and lose the rest",
        )


class SetupOptions(PipelineOptions):
    """Options of Beam programs that have no effect here: ``--save_main_session``.

    Functions are always sent to workers with everything that they refer to.

    >>> SetupOptions([]).save_main_session
    False
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--save_main_session", action="store_true", help="has no effect")


_Adder = Callable[[ArgumentParser], None]


def _flag_adders(cls: type[PipelineOptions]) -> list[_Adder]:
    """Return the flag adders of a class and of its bases that define ``_add_argparse_args``."""
    return [
        _FlagAdder(base)
        for base in cls.__mro__
        if base is not PipelineOptions and "_add_argparse_args" in vars(base)
    ]


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


def _with_subclasses(cls: type[PipelineOptions]) -> Iterator[type[PipelineOptions]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _with_subclasses(subclass)


def _parse(adders: list[_Adder], flags: list[str]) -> dict[str, Any]:
    return vars(_parser(adders).parse_known_args(flags)[0])


def _unknown(adders: list[_Adder], flags: list[str]) -> dict[str, Any]:
    """Return the unknown flags with their values as strings, or True if there is no value."""
    found: dict[str, Any] = {}
    rest = _parser(adders).parse_known_args(flags)[1]
    for flag, following in zip(rest, [*rest, "-"][1:], strict=True):
        name, equals, value = flag.partition("=")
        if flag.startswith("--"):
            has_value = not equals and not following.startswith("-")
            found[name[2:]] = value if equals else following if has_value else True
    return found


def _parser(adders: list[_Adder]) -> ArgumentParser:
    parser = ArgumentParser(allow_abbrev=False, add_help=False, conflict_handler="resolve")
    for add in adders:
        add(parser)
    return parser


def _as_flags(name: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    if isinstance(value, list):
        return [f"--{name}={item}" for item in value]
    return [f"--{name}={json.dumps(value) if isinstance(value, dict) else value}"]
