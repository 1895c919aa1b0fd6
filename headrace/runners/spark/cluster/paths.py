"""Checks of the paths that flags name, before a session starts."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import unquote, urlsplit

from headrace.runners.spark.cluster.code.packaging import check_exists
from headrace.runners.spark.cluster.new_session import presumably_local
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.sdk.io.files.file_systems import is_remote
from headrace.sdk.options.output_paths import check_directory

_HADOOP: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables that name a directory in which Hadoop's default file system can be set."""


def check_paths(settings: SparkSettings, streaming: bool) -> None:
    """Check the paths of flags, as far as it is certain without a session that they are on this machine.

    Raises:
        PipelineError: a file is missing, or a directory cannot be written.
    """
    for file in settings.py_files:
        check_exists(file)
    if settings.temp_location and not is_remote(settings.temp_location):
        check_directory(settings.temp_location, "--temp-location")
    checkpoint = _local_path(settings.checkpoint, settings) if settings.checkpoint else None
    if streaming and checkpoint is not None:
        check_directory(checkpoint, "--checkpoint")


def _local_path(place: str, settings: SparkSettings) -> str | None:
    """Return a path or URL of Hadoop's as a path of this machine; None if it may be elsewhere."""
    if place.startswith("file:"):
        return unquote(urlsplit(place).path)
    elsewhere = any(name in os.environ for name in _HADOOP)
    elsewhere |= any(name.endswith("fs.defaultFS") for name in settings.conf)
    if is_remote(place) or elsewhere or not presumably_local(settings):
        return None
    return place
