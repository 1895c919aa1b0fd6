"""Where the files of side inputs are: beside the checkpoint, or in a temporary directory of the run.

All workers must be able to read and write the directory. If there is no such directory, there are no files:
panes are sent and stored whole, whatever their size.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from pyspark.sql import SparkSession

from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.plan.planning import Plan, has_sides
from headrace.runners.spark.cluster.file_retention import FileRetention
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.runners.spark.state.checkpoint_manifest import Checkpoint
from headrace.sdk.io.files.file_systems import is_remote


def files_of_run(
    plan: Plan, settings: SparkSettings, is_local: bool, checkpoint: Checkpoint | None = None
) -> SideInputFiles | None:
    """Return where the side inputs of a run have their files; None if they have none.

    Args:
        plan: the plan.
        settings: the settings of the run.
        is_local: whether all workers run on this machine.
        checkpoint: the checkpoint that the run can be resumed from, if there is one.
    """
    if not _steps(plan):
        return None
    directory = _temporary(settings, is_local) if checkpoint is None else _beside(checkpoint)
    return None if directory is None else SideInputFiles(directory, settings.side_input_bytes)


def retention_of(
    plan: Plan, files: SideInputFiles | None, key_groups: int, session: SparkSession
) -> FileRetention | None:
    """Return what deletes files during a streaming run; None if there are no files."""
    if files is None:
        return None
    batches = int(session.conf.get("spark.sql.streaming.minBatchesToRetain", None) or 100)
    return FileRetention(files.directory, _steps(plan) * key_groups, batches)


def remove(files: SideInputFiles | None) -> None:
    """Remove the files of a run that has ended."""
    if files is not None:
        shutil.rmtree(files.directory, ignore_errors=True)


@contextmanager
def temporary_files(
    plan: Plan, settings: SparkSettings, is_local: bool
) -> Iterator[SideInputFiles | None]:
    """Yield the files of a job, and remove them at its end."""
    files = files_of_run(plan, settings, is_local)
    try:
        yield files
    finally:
        remove(files)


def _steps(plan: Plan) -> int:
    return sum(has_sides(step) for step in plan.steps.values())


def _beside(checkpoint: Checkpoint) -> str | None:
    directory = checkpoint.local_directory
    return None if directory is None else os.path.join(directory, "side-inputs")


def _temporary(settings: SparkSettings, is_local: bool) -> str | None:
    given = settings.temp_location
    if given and not is_remote(given):
        return os.path.join(os.path.abspath(given), f"headrace-side-inputs-{uuid4().hex}")
    return tempfile.mkdtemp(prefix="headrace-side-inputs-") if is_local else None
