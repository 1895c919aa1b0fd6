"""What can be said about a run on Spark: where it runs, what it may use, and where it keeps its progress."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.options import PipelineOptions

LEAST_KEY_GROUPS: Final = 16
"""So many buckets of keys a pipeline has at least, unless it says otherwise."""

KEY_GROUPS_A_CORE: Final = 4
"""So many for each core, where that is more."""


def default_key_groups(cores: int) -> int:
    """Return into how many buckets keys are put, unless a pipeline says otherwise.

    >>> default_key_groups(2), default_key_groups(64)
    (16, 256)
    """
    return max(LEAST_KEY_GROUPS, KEY_GROUPS_A_CORE * cores)


class SparkOptions(PipelineOptions):
    """Options of the Spark runner, as flags; :func:`spark_settings` gives them checked.

    >>> from headrace.runners.spark.cluster.options import SparkOptions
    >>> options = SparkOptions(["--checkpoint=/tmp/c", "--trigger-interval=2.5"])
    >>> options.checkpoint, options.trigger_interval
    ('/tmp/c', 2.5)
    """

    @classmethod
    def _add_argparse_args(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--checkpoint", metavar="DIR", help="where a streaming run keeps its progress and state"
        )
        parser.add_argument(
            "--trigger_interval",
            "--trigger-interval",
            metavar="SECONDS",
            help="start a micro-batch so often; without it, as soon as the last one is done",
            type=float,
        )
        parser.add_argument(
            "--key_groups",
            "--key-groups",
            metavar="N",
            help=f"put keys into so many buckets, fixed for a checkpoint (default: the checkpoint's, or "
            f"{KEY_GROUPS_A_CORE} for each core, at least {LEAST_KEY_GROUPS})",
            type=int,
        )
        parser.add_argument(
            "--spark_master",
            "--spark-master",
            metavar="URL",
            help="local[*] (the default), spark://host:port, or another master of Spark's",
        )
        parser.add_argument(
            "--spark_conf",
            "--spark-conf",
            metavar="KEY=VALUE",
            action="append",
            help="a setting of Spark's; may be given more than once",
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
        raise PipelineError(
            f"{_flag(field.name)} is {value}", remedy="give a number greater than zero"
        )


@attrs.frozen
class SparkSettings:
    """The options of the Spark runner, checked.

    Args:
        checkpoint: a directory, or None.
        trigger_interval: seconds between the starts of micro-batches, or None for no pause.
        key_groups: the number of buckets that keys are put into, or None where a checkpoint decides.
        master: the master's URL, or None where the session's decides.
        conf: Spark's own settings, by name.
        py_files: files with code for the workers.
    """

    checkpoint: str | None = None
    trigger_interval: float | None = attrs.field(default=None, validator=_positive)
    key_groups: int | None = attrs.field(default=None, validator=_positive)
    master: str | None = None
    conf: Mapping[str, str] = attrs.field(factory=dict)
    py_files: tuple[str, ...] = ()


def spark_settings(options: PipelineOptions) -> SparkSettings:
    """Return what the options say about Spark.

    Raises:
        PipelineError: a number is not positive, or a setting is not of the form ``key=value``.

    >>> from headrace.runners.spark.cluster.options import spark_settings
    >>> spark_settings(PipelineOptions(["--spark-conf", "spark.ui.port=4050"])).conf
    {'spark.ui.port': '4050'}
    """
    said = options.view_as(SparkOptions)
    return SparkSettings(
        checkpoint=said.checkpoint or None,
        trigger_interval=said.trigger_interval,
        key_groups=said.key_groups,
        master=said.spark_master or None,
        conf=dict(_key_and_value(one) for one in _each(said.spark_conf)),
        py_files=tuple(f for one in _each(said.py_files) for f in one.split(",") if f),
    )


def _each(values: list[str] | str | None) -> list[str]:
    """Return the values of a repeatable flag; one that was set by name may be a single string."""
    return [values] if isinstance(values, str) else values or []


def _key_and_value(setting: str) -> tuple[str, str]:
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        raise PipelineError(
            f"--spark-conf is {setting!r}",
            remedy="write key=value, such as --spark-conf spark.executor.memory=2g",
        )
    if not key.startswith("spark."):
        raise PipelineError(
            f"--spark-conf sets {key.strip()!r}, and Spark ignores what is not its own",
            remedy="the names of Spark's settings begin with 'spark.'",
        )
    return key.strip(), value.strip()


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
