"""Options of the Spark runner: master, resources, checkpoint, files, and code for the workers."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.beam_options import SparkRunnerOptions

LEAST_KEY_GROUPS: Final = 16
"""Minimum of the default number of key groups."""

KEY_GROUPS_A_CORE: Final = 4
"""Default number of key groups per core."""


SIDE_INPUT_BYTES: Final = 1 << 20
"""Default size of a pane of a side input, in bytes, above which its values are written to a file."""


BATCH_RETRIES: Final = 3
"""Default number of times that a batch is tried again if a worker does not start in time."""


LOG_LEVELS: Final = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")
"""The levels of Spark's log."""


def default_key_groups(cores: int) -> int:
    """Return the default number of key groups.

    A stream without a checkpoint has one per core: it is never resumed on more cores.

    >>> default_key_groups(2), default_key_groups(64)
    (16, 256)
    """
    return max(LEAST_KEY_GROUPS, KEY_GROUPS_A_CORE * cores)


class SparkOptions(PipelineOptions):
    """The flags of the Spark runner; :func:`spark_settings` checks and converts them.

    >>> from headrace.runners.spark.cluster.options import SparkOptions
    >>> options = SparkOptions(["--checkpoint=/tmp/c", "--trigger-interval=2.5"])
    >>> options.checkpoint, options.trigger_interval
    ('/tmp/c', 2.5)
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--checkpoint", metavar="DIR", help="directory for the state of a streaming run"
        )
        parser.add_argument(
            "--replace_run",
            "--replace-run",
            action="store_true",
            help="if another run owns the checkpoint, let it end, and take the checkpoint over",
        )
        parser.add_argument(
            "--trigger_interval",
            "--trigger-interval",
            metavar="SECONDS",
            help="interval between micro-batches (default: start when the previous one is done)",
            type=float,
        )
        parser.add_argument(
            "--key_groups",
            "--key-groups",
            metavar="N",
            help=f"number of key groups, fixed for a checkpoint (default: the checkpoint's, or "
            f"{KEY_GROUPS_A_CORE} per core, and at least {LEAST_KEY_GROUPS}; for a stream without a "
            "checkpoint one per core)",
            type=int,
        )
        parser.add_argument(
            "--batch_retries",
            "--batch-retries",
            metavar="N",
            help="how often a batch is tried again if one of Spark's Python processes does not start within "
            f"ten seconds, which Spark allows (default: {BATCH_RETRIES})",
            type=int,
        )
        parser.add_argument(
            "--temp_location",
            "--temp-location",
            metavar="DIR",
            help="directory for temporary files of a run without a checkpoint; all workers must be able to "
            "read and write it (default: if the master is local, a temporary directory)",
        )
        parser.add_argument(
            "--side_input_bytes",
            "--side-input-bytes",
            metavar="N",
            help="size in bytes above which the values of a pane of a side input are written to a file, "
            f"to which the key groups refer (default: {SIDE_INPUT_BYTES})",
            type=int,
        )
        parser.add_argument(
            "--spark_master",
            "--spark-master",
            metavar="URL",
            help="local[*] (the default), spark://host:port, or another Spark master",
        )
        parser.add_argument(
            "--spark_conf",
            "--spark-conf",
            metavar="KEY=VALUE",
            action="append",
            help="a Spark setting; can be repeated",
        )
        parser.add_argument(
            "--spark_log_level",
            "--spark-log-level",
            metavar="LEVEL",
            help="log all that Spark logs from this level on: DEBUG, INFO, WARN, ERROR or another level "
            "(default: warnings, but nothing that is raised as an exception anyway)",
        )
        parser.add_argument(
            "--py_files",
            "--py-files",
            metavar="FILES",
            action="append",
            help=".py, .zip and .egg files for the workers, separated by commas",
        )


def _positive(settings: SparkSettings, field: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise PipelineError(f"{_flag(field.name)} is {value}", remedy="use a number greater than 0")


def _log_level(settings: SparkSettings, field: attrs.Attribute[Any], value: str | None) -> None:
    if value is not None and value not in LOG_LEVELS:
        raise PipelineError(
            f"{_flag('spark_log_level')} is {value}",
            remedy=f"use one of {', '.join(LOG_LEVELS)}",
        )


def _not_negative(
    settings: SparkSettings, field: attrs.Attribute[Any], value: float | None
) -> None:
    if value is not None and value < 0:
        raise PipelineError(f"{_flag(field.name)} is {value}", remedy="use 0 or a greater number")


@attrs.frozen
class SparkSettings:
    """The checked options of the Spark runner.

    Args:
        checkpoint: a directory, or None.
        replace_run: whether to let another run that owns the checkpoint end.
        trigger_interval: seconds between the starts of micro-batches, or None for no pause.
        key_groups: number of key groups; None for the checkpoint's or the default number.
        batch_retries: how often a batch is tried again if a worker does not start in time.
        temp_location: a directory for temporary files, or None.
        side_input_bytes: size in bytes above which the values of a pane of a side input are in a file.
        master: the master's URL; None for the session's master.
        conf: Spark settings by name.
        py_files: files with code for the workers.
        log_level: the level from which on Spark logs everything; None for a quiet log.
        job_name: name of a new Spark application; None for the name of the program.
    """

    checkpoint: str | None = None
    replace_run: bool = False
    trigger_interval: float | None = attrs.field(default=None, validator=_positive)
    key_groups: int | None = attrs.field(default=None, validator=_positive)
    batch_retries: int = attrs.field(default=BATCH_RETRIES, validator=_not_negative)
    temp_location: str | None = None
    side_input_bytes: int = attrs.field(default=SIDE_INPUT_BYTES, validator=_positive)
    master: str | None = None
    conf: Mapping[str, str] = attrs.field(factory=dict)
    py_files: tuple[str, ...] = ()
    log_level: str | None = attrs.field(default=None, validator=_log_level)
    job_name: str | None = None


def spark_settings(options: PipelineOptions) -> SparkSettings:
    """Return the Spark settings that options specify.

    Raises:
        PipelineError: a number is not positive, or a setting does not have the form ``key=value``.

    >>> from headrace.runners.spark.cluster.options import spark_settings
    >>> spark_settings(PipelineOptions(["--spark-conf", "spark.ui.port=4050"])).conf
    {'spark.ui.port': '4050'}
    """
    flags = options.view_as(SparkOptions)
    return SparkSettings(
        checkpoint=flags.checkpoint or None,
        replace_run=bool(flags.replace_run),
        trigger_interval=flags.trigger_interval,
        key_groups=flags.key_groups,
        batch_retries=BATCH_RETRIES if flags.batch_retries is None else flags.batch_retries,
        temp_location=flags.temp_location or None,
        side_input_bytes=(
            SIDE_INPUT_BYTES if flags.side_input_bytes is None else flags.side_input_bytes
        ),
        master=flags.spark_master or options.view_as(SparkRunnerOptions).spark_master_url or None,
        conf=dict(_key_and_value(one) for one in _each(flags.spark_conf)),
        log_level=flags.spark_log_level.upper() if flags.spark_log_level else None,
        py_files=tuple(f for one in _each(flags.py_files) for f in one.split(",") if f),
        job_name=options.view_as(StandardOptions).job_name or None,
    )


def _each(values: list[str] | str | None) -> list[str]:
    """Return the values of a repeatable flag; a value that was set by name can be a single string."""
    return [values] if isinstance(values, str) else values or []


def _key_and_value(setting: str) -> tuple[str, str]:
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        raise PipelineError(
            f"--spark-conf {setting!r} does not have the form key=value",
            remedy="use key=value, such as --spark-conf spark.executor.memory=2g",
        )
    if not key.startswith("spark."):
        raise PipelineError(
            f"--spark-conf sets {key.strip()!r}, which is not a Spark setting",
            remedy="use a name that begins with 'spark.'",
        )
    return key.strip(), value.strip()


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
