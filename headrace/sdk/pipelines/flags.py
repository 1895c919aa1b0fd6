"""Warnings, when a pipeline runs, about flags that have no effect: misspelled, or for another runner."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from headrace.errors import warn
from headrace.sdk.options.pipeline_options import (
    PipelineOptions,
    assigned_names,
    given_flags,
    known_flags,
)
from headrace.sdk.pipelines.beam_options import flags_without_effect

SPARK_FLAGS: Final = frozenset(
    (
        "batch_retries",
        "checkpoint",
        "key_groups",
        "py_files",
        "replace_run",
        "side_input_bytes",
        "spark_conf",
        "spark_log_level",
        "spark_master",
        "spark_master_url",
        "temp_location",
        "trigger_interval",
    )
)
"""The flags that only the Spark runner uses."""

_BEAM_FLAGS_OF_SPARK: Final = frozenset(("temp_location", "spark_master_url"))
"""Those of them that programs from Beam have."""

_OF_CODE: Final = frozenset(
    (
        "extra_package",
        "extra_packages",
        "file_to_stage",
        "files_to_stage",
        "requirements_file",
        "setup_file",
    )
)
"""Beam flags that send code to workers."""

_IGNORED: Final = frozenset(
    (
        "allow_non_deterministic_key_coders",
        "disable_beartype",
        "exclude_infer_dataclass_field_type",
        "force_cloudpickle_deterministic_coders",
        "resource_hint",
        "resource_hints",
        "type_check_additional",
        "type_check_strictness",
    )
)
"""Beam flags without an effect, in classes whose other flags have one."""

_LIKELY: Final = 0.8
"""Similarity above which an unknown flag of the command line is taken for a misspelled one."""

_POSSIBLE: Final = 0.7
"""Similarity above which another unknown flag is."""


def warn_of_flags(options: PipelineOptions, local: bool) -> None:
    """Warn about flags without an effect; one warning names all Beam flags.

    The command line can also have flags of the program or of pytest. So if the options come from there, only
    Beam flags, and flags that look misspelled, are reported.

    Args:
        options: the options of the run.
        local: whether it runs on the local runner.
    """
    given = given_flags(options)
    assigned = assigned_names(options)
    if not (given.names or assigned):
        return
    ignored = flags_without_effect() | _IGNORED | (_BEAM_FLAGS_OF_SPARK if local else frozenset())
    names = dict.fromkeys((*given.names, *assigned))
    _warn_of_beam([name for name in names if name in ignored])
    others = [name for name in names if name not in ignored]
    if local:
        _warn_of_spark([name for name in others if name in SPARK_FLAGS])
    _warn_of_unknown([name for name in others if name in given.names], given.from_command_line)


def _warn_of_beam(names: list[str]) -> None:
    if names:
        *first, last = map(_flag, names)
        flags = f"flags {', '.join(first)} and {last}" if first else f"flag {last}"
        warn(
            f"Beam's {flags} {'have' if first else 'has'} no effect here",
            remedy="use --py_files or `headrace package` to send code to Spark's workers"
            if _OF_CODE.intersection(names)
            else "",
        )


def _warn_of_spark(names: list[str]) -> None:
    for name in names:
        warn(
            f"the flag {_flag(name)} has no effect on the local runner",
            remedy="use --runner=spark, or remove the flag",
        )


def _warn_of_unknown(names: list[str], from_command_line: bool) -> None:
    known = known_flags() | SPARK_FLAGS if names else frozenset()
    for name in names:
        if name not in known:
            _warn_of_one(name, known, from_command_line)


def _warn_of_one(name: str, known: frozenset[str], from_command_line: bool) -> None:
    near = get_close_matches(name, known, n=1, cutoff=_LIKELY if from_command_line else _POSSIBLE)
    if near:
        remedy = f"did you mean {_flag(near[0])}?"
    elif from_command_line:
        return
    else:
        remedy = "remove it, or define it in a subclass of PipelineOptions"
    warn(f"there is no flag {_flag(name)}, so it has no effect", remedy=remedy)


def _flag(name: str) -> str:
    return f"--{name}"
