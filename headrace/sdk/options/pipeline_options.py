"""Options of pipelines, from flags in argparse's style; subclasses add flags, as in Beam.

All views of the same options share one dictionary, so an option that is set through one view is visible
in all of them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from headrace.errors import PipelineError
from headrace.sdk.options.option_flags import (
    GivenFlags,
    as_flags,
    flag_adders,
    flag_name,
    log_unknown_flags,
    own_parser,
    parse,
    parser_of,
    parser_with,
    switches_of,
    unknown_flags,
    with_subclasses,
)
from headrace.sdk.typehints.display_data import HasDisplayData

OptionsT = TypeVar("OptionsT", bound="PipelineOptions")

_FLAGS: Final[WeakKeyDictionary[type, frozenset[str]]] = WeakKeyDictionary()
"""The flags of each class: each run that is given some looks for misspelled ones."""


class PipelineOptions(HasDisplayData):
    """Options of a pipeline; a subclass adds its own flags in ``_add_argparse_args``.

    The parser that it gets is argparse's, with ``add_value_provider_argument`` as in Beam.

    Args:
        flags: flags as on a command line; by default the flags of this process. Unknown flags are kept and
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
        self._values: dict[str, object] = overrides
        self._assigned: set[str] = set()
        self._parsed: dict[type, frozenset[str]] = {}
        self._parse_own()

    def _parse_own(self) -> None:
        if type(self) in self._parsed:
            return
        own = parse(own_parser(type(self)), self._flags)
        for name, value in own.items():
            self._values.setdefault(name, value)
        self._parsed[type(self)] = frozenset(own)

    @property
    def _visible(self) -> frozenset[str]:
        """The names of the options of this class."""
        return self._parsed[type(self)]

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        """Add flags to a parser; for subclasses to override."""

    @classmethod
    def from_dictionary(cls: type[OptionsT], options: dict[str, Any]) -> OptionsT:
        """Create options from values by name.

        >>> PipelineOptions.from_dictionary({"streaming": True}).view_as(StandardOptions).streaming
        True
        """
        switches = switches_of(PipelineOptions)
        return cls([f for name, value in options.items() for f in as_flags(name, value, switches)])

    def view_as(self, cls: type[OptionsT]) -> OptionsT:
        """Return a view of these options as another class; values are shared."""
        view = cls.__new__(cls)
        object.__setattr__(view, "_flags", self._flags)
        object.__setattr__(view, "_given", self._given)
        object.__setattr__(view, "_values", self._values)
        object.__setattr__(view, "_assigned", self._assigned)
        object.__setattr__(view, "_parsed", self._parsed)
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
        """Return all options by name, of all classes of options that are imported.

        Args:
            drop_default: whether to omit options that have their default value.
            add_extra_args_fn: adds more flags to the parser.
            retain_unknown_options: whether to include unknown flags and overrides.
            display_warnings: whether to log a warning about each unknown flag; a run warns of them
                anyway.
            current_only: whether to return only the options of this class.

        >>> PipelineOptions(["--runner=spark"]).get_all_options(drop_default=True)
        {'runner': 'spark'}
        """
        adders = flag_adders(type(self))
        if not current_only:
            adders = [a for cls in with_subclasses(PipelineOptions) for a in flag_adders(cls)]
        extra = [add_extra_args_fn] if add_extra_args_fn else []
        parser = parser_with(dict.fromkeys([*adders, *extra]))
        defaults = parse(parser, [])
        known = parse(parser, self._flags)
        result = {name: self._values.get(name, value) for name, value in known.items()}
        if display_warnings:
            log_unknown_flags(parser, self._flags)
        if retain_unknown_options:
            result.update(unknown_flags(parser, self._flags))
            result.update(self._values)
        if drop_default:
            result = {n: v for n, v in result.items() if n not in defaults or v != defaults[n]}
        return result

    def display_data(self) -> dict[str, Any]:
        """Return the options that differ from their default values, by name."""
        return self.get_all_options(drop_default=True, retain_unknown_options=True)

    def is_compat_version_prior_to(self, breaking_change_version: str) -> bool:
        """Return whether ``--update_compatibility_version``, a version of Beam, is older than another one.

        Without that flag it is not. No transform asks: Headrace does not change with the version of Beam.

        >>> options = PipelineOptions(["--update_compatibility_version=2.9"])
        >>> options.is_compat_version_prior_to("2.10.0")
        True
        """
        version = self.get_all_options(add_extra_args_fn=_add_version)[
            "update_compatibility_version"
        ]
        return version is not None and _numbers(version) < _numbers(breaking_change_version)

    def __getattr__(self, name: str) -> Any:
        """Return the value of an option of this class."""
        if not name.startswith("_") and name in self._visible:
            return self._values[name]
        raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the value of an option of this class, for all views."""
        if name in ("_flags", "_given", "_values", "_assigned", "_parsed"):
            object.__setattr__(self, name, value)
        elif name in self._visible:
            self._values[name] = value
            self._assigned.add(name)
        else:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __dir__(self) -> list[str]:
        """List methods and options."""
        return sorted({*super().__dir__(), *self._visible})

    def __repr__(self) -> str:
        """Show the options of this class."""
        shown = ", ".join(f"{name}={self._values[name]!r}" for name in sorted(self._visible))
        return f"{type(self).__name__}({shown})"


def given_flags(options: PipelineOptions) -> GivenFlags:
    """Return the flags and overrides that options, or the options that they are a view of, were given."""
    return options._given


def assigned_names(options: PipelineOptions) -> list[str]:
    """Return the names of options that were set as attributes, to something else than nothing.

    >>> options = StandardOptions([])
    >>> options.runner = "local"
    >>> assigned_names(options)
    ['runner']
    """
    return sorted(name for name in options._assigned if options._values[name])


def with_option(options: OptionsT, name: str, value: object) -> OptionsT:
    """Return a copy of options with another value of one of them, as a flag of any class.

    >>> options = StandardOptions([])
    >>> with_option(options, "runner", "spark").runner, options.runner
    ('spark', None)
    """
    copy = options.view_as(type(options))
    copy._values = {**options._values, name: value}
    copy._assigned = {*options._assigned, name}
    copy._parsed = {**options._parsed}
    return copy


class RunOptions(Mapping[str, Any]):
    """The options of a run by name, read when the first of them is needed.

    >>> RunOptions(PipelineOptions(["--runner=local"]))["runner"]
    'local'
    """

    def __init__(self, options: PipelineOptions) -> None:
        self._options = options

    @cached_property
    def _by_name(self) -> dict[str, object]:
        return self._options.get_all_options(retain_unknown_options=True)

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def known_flags() -> frozenset[str]:
    """Return the names of the flags of all classes of options, with underscores.

    >>> "max_records_per_batch" in known_flags()
    True
    """
    return frozenset(
        name for cls in with_subclasses(PipelineOptions) for name in flags_of_class(cls)
    )


def flags_of_class(cls: type[PipelineOptions]) -> frozenset[str]:
    """Return the names of the flags and options of a class, with underscores; none if it cannot be used.

    >>> "runner" in flags_of_class(StandardOptions)
    True
    """
    if cls not in _FLAGS:
        parser = parser_of(cls)
        names = (action.dest for action in parser._actions)
        named_only = parser._defaults  # options that can be set by name only
        _FLAGS[cls] = frozenset(
            (*names, *named_only, *map(flag_name, parser._option_string_actions))
        )
    return _FLAGS[cls]


_NO_EFFECT: Final = "accepted; has no effect"


class StandardOptions(PipelineOptions):
    """Options of every pipeline: runner, mode, progress, and the size of streaming rounds.

    >>> options = StandardOptions(["--runner=local", "--streaming", "--batch-seconds=5"])
    >>> options.runner, options.streaming, options.batch_seconds
    ('local', True, 5.0)
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--runner",
            help="local (the default, in memory) or spark (needs headrace[spark] and Java 17)",
        )
        parser.add_argument("--streaming", action="store_true", help="run in streaming mode")
        parser.add_argument(
            "--job_name",
            "--job-name",
            metavar="NAME",
            help="name of the run in reports, metrics and Spark's pages (default: the program's name)",
        )
        parser.add_argument(
            "--auto_unique_labels",
            "--auto-unique-labels",
            action="store_true",
            help="number the labels that are used again, in place of an error; a change of the program can "
            "then give a label, and the state under it, to another step",
        )
        parser.add_argument(
            "--no_wait_until_finish",
            "--no-wait-until-finish",
            action="store_true",
            help="let a `with` block end without waiting for the end of the run",
        )
        parser.add_argument(
            "--progress",
            action=BooleanOptionalAction,
            default=None,
            help="show records, rate, watermark and state in a line (default: if the standard error is a "
            "terminal)",
        )
        parser.add_argument(
            "--max_records_per_batch",
            "--max-records-per-batch",
            type=int,
            help="in streaming mode, maximum number of records to read from a partition at once (default: "
            "10000, and 1000000 if batches follow a target time)",
        )
        parser.add_argument(
            "--batch_seconds",
            "--batch-seconds",
            type=float,
            metavar="SECONDS",
            help="in streaming mode, the time that a batch should take: the number of records follows it; 0 "
            "to read up to the maximum each time (default: 2 on Spark, or the --trigger-interval if that is "
            "longer; on the local runner 0)",
        )
        parser.add_argument(
            "--check_mutation",
            "--check-mutation",
            action=BooleanOptionalAction,
            default=None,
            help="raise an error if a function changes its input or output; TestPipeline checks by default",
        )
        parser.add_argument(
            "--full_traceback",
            "--full-traceback",
            action="store_true",
            help="show Headrace's own frames in the traceback of an error",
        )
        parser.add_argument(
            "--no_pickle",
            "--no-pickle",
            action="store_true",
            help="raise an error for values in shuffles and checkpoints that only pickle can write",
        )
        parser.add_argument(
            "--until_caught_up",
            "--until-caught-up",
            action="store_true",
            help="in streaming mode, read the records that exist when the run starts, then drain it",
        )
        parser.add_argument(
            "--resource_hint",
            "--resource_hints",
            dest="resource_hints",
            action="append",
            default=[],
            help=_NO_EFFECT,
        )


class TypeOptions(PipelineOptions):
    """Options for checks: ``--no_pipeline_type_check``, ``--runtime_type_check``, and of triggers.

    >>> options = TypeOptions(["--allow_unsafe_triggers", "--no_pipeline_type_check"])
    >>> options.allow_unsafe_triggers, options.pipeline_type_check, options.runtime_type_check
    (True, False, False)
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--allow_unsafe_triggers",
            action="store_true",
            help="allow triggers that may finish before all data has arrived, and lose the rest",
        )
        parser.add_argument(
            "--no_pipeline_type_check",
            "--no-pipeline-type-check",
            dest="pipeline_type_check",
            action="store_false",
            help="do not compare the types that steps declare while the pipeline is built",
        )
        parser.add_argument(
            "--runtime_type_check",
            "--runtime-type-check",
            "--performance_runtime_type_check",
            action="store_true",
            help="compare each element with the types that steps declare while the pipeline runs",
        )
        parser.add_argument(
            "--type_check_strictness",
            choices=["ALL_REQUIRED", "DEFAULT_TO_ANY"],
            default="DEFAULT_TO_ANY",
            help=_NO_EFFECT,
        )
        parser.add_argument("--type_check_additional", default="", help=_NO_EFFECT)
        for name in (
            "allow_non_deterministic_key_coders",
            "disable_beartype",
            "exclude_infer_dataclass_field_type",
            "force_cloudpickle_deterministic_coders",
        ):
            parser.add_argument(f"--{name}", action="store_true", help=_NO_EFFECT)


def _add_version(parser: ArgumentParser) -> None:
    parser.add_argument("--update_compatibility_version")


def _numbers(version: str) -> tuple[int, ...]:
    """Return the three numbers of a version."""
    return tuple(int(part) for part in [*version.split("."), "0", "0"][:3])
