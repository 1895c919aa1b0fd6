"""The set-up of a streaming run: its settings, its checkpoint with lease and manifest, and its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame

from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.engine.progress import Progress
from headrace.runners.plan.execution_mode import has_restrictions, is_unbounded, round_size
from headrace.runners.plan.planning import Plan, with_side_input_files
from headrace.runners.sources.batch_size import RoundSize
from headrace.runners.spark import streaming
from headrace.runners.spark.cluster.driver_sinks import DriverSinks
from headrace.runners.spark.cluster.job_labels import ui_label
from headrace.runners.spark.cluster.options import (
    SparkSettings,
    default_key_groups,
    spark_settings,
)
from headrace.runners.spark.cluster.session import Session, session_of_run
from headrace.runners.spark.sources.data_source import SourcePlan, source_frame
from headrace.runners.spark.sources.native import NativeRead, native_reads
from headrace.runners.spark.sources.worker_reads import sent_as_tables, with_streams, worker_reads
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.state.acquire_lease import acquire
from headrace.runners.spark.state.checkpoint_manifest import (
    Checkpoint,
    Manifest,
    as_stored,
    manifest_of,
    resumed,
)
from headrace.runners.spark.state.control_files import ControlFiles
from headrace.runners.spark.state.lease import Lease
from headrace.runners.spark.state.moved_checkpoint import adapt
from headrace.runners.spark.state.run_directory import new_run_directory
from headrace.runners.spark.state.side_input_directory import files_of_run, remove, retention_of
from headrace.sdk.coders.stored.registered import Registrations
from headrace.sdk.options.output_paths import check_directory
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import Read

BATCH_SECONDS: Final = 2.0
"""The target time of a micro-batch by default, in seconds, unless ``--trigger-interval`` is longer."""

HEARTBEAT: Final = 1.0
"""Maximum idle time between micro-batches, in seconds, unless ``--trigger-interval`` is longer."""


@attrs.frozen(eq=False)
class StreamSetup:
    """All that is decided before the query starts.

    Attributes:
        plan: the plan.
        session: the Spark session.
        settings: the settings of the run.
        size: the size of batches.
        until_caught_up: whether the run ends when it has read what existed at its start.
        natives: the sources that Spark reads itself.
        control: the control files.
        checkpoint: the checkpoint.
        manifest: the description of the pipeline in the checkpoint.
        lease: the right to write the checkpoint; None for a run that cannot be resumed.
        side_files: where the files with large side inputs are; None if there are none.
        is_unbounded: whether a source has no end.
    """

    plan: Plan
    session: Session
    settings: SparkSettings
    size: RoundSize
    until_caught_up: bool
    natives: tuple[NativeRead, ...]
    control: ControlFiles
    checkpoint: Checkpoint
    manifest: Manifest
    lease: Lease | None
    side_files: SideInputFiles | None
    is_unbounded: bool
    _undo: ExitStack

    @property
    def is_resumable(self) -> bool:
        """Whether the checkpoint outlives the run."""
        return bool(self.settings.checkpoint)

    @property
    def run_name(self) -> str:
        """The name of the run for sinks; empty if it cannot be resumed."""
        return self.manifest.run if self.is_resumable else ""

    @property
    def drains_when_caught_up(self) -> bool:
        """Whether sources that Spark reads must be drained, since they do not end by themselves."""
        return self.until_caught_up and bool(self.natives)

    def sinks(self, progress: Progress) -> DriverSinks:
        """Return the sinks, not yet opened."""
        groups, spark = self.manifest.key_groups, self.session.spark
        retention = retention_of(self.plan, self.side_files, groups, spark)
        return DriverSinks(
            self.plan, self.run_name, streaming=True, progress=progress, retention=retention
        )

    def writer(
        self, deliver: Callable[[DataFrame, int], None], sampled: frozenset[str] | None
    ) -> object:
        """Return the writer of the query.

        Args:
            deliver: writes a batch.
            sampled: labels of the steps whose elements are sampled; None if nothing is observed.
        """
        spark = session_of_run(self.session.spark, self._conf())
        workers = worker_reads(self.plan, self.manifest.observed)
        rows = streaming.lower(
            partial(source_frame, spark, self._sources(workers)),
            stage_plans(self.plan, self.manifest.key_groups, batch=False, sampled=sampled),
            self.manifest.place,
            self.run_name,
            self.natives,
            workers.observed,
        )
        writer = rows.writeStream.queryName(ui_label(self.plan)).foreachBatch(deliver)
        writer = writer.option("checkpointLocation", self.checkpoint.directory)
        interval = self.settings.trigger_interval
        if interval:
            writer = writer.trigger(processingTime=f"{int(interval * 1000)} milliseconds")
        return writer

    def _conf(self) -> dict[str, str]:
        return {
            "spark.sql.shuffle.partitions": str(self.manifest.partitions),
            **self.checkpoint.conf,
        }

    def _sources(self, workers: Any) -> SourcePlan:
        """Return how Python reads the sources that Spark does not read itself."""
        labels = tuple(native.read.label for native in self.natives)
        interval = self.settings.trigger_interval or 0
        return SourcePlan(
            reads=tuple(
                (index, node)
                for index, node in enumerate(self.plan.graph)
                if isinstance(node, Read) and node.label not in labels
            ),
            limit=self.size.bound,
            seconds=self.size.seconds,
            delivered=str(self.control.delivered),
            waits=bool(interval),
            resumes=str(self.control.resumes) if has_restrictions(self.plan.graph) else "",
            heartbeat=int(max(HEARTBEAT, interval) * 1_000_000),
            width=self.session.cores,
            drain=str(self.control.drain),
            pause=str(self.control.pause),
            observed=str(self.control.observed),
            natives=labels,
            until_caught_up=self.until_caught_up,
            workers=workers,
            tables=sent_as_tables(self.plan),
            no_pickle=self.plan.no_pickle,
            classes=Registrations.of_this_process(),
        )

    def finish(self) -> None:
        """Note in the checkpoint that all input was read."""
        if self.is_resumable:
            self.checkpoint.write(attrs.evolve(self.manifest, finished=True))
            remove(self.side_files)  # a finished run is not resumed

    def release(self) -> None:
        """Give back the checkpoint, and delete what only this run needs."""
        self._undo.close()


def set_up(planned: Plan, options: PipelineOptions, session: Session) -> StreamSetup:
    """Return the set-up of a run: a new one, or that of the checkpoint that it resumes.

    Args:
        planned: the plan.
        options: see :mod:`headrace.runners.spark.cluster.options`.
        session: the Spark session.

    Raises:
        PipelineError: the checkpoint is damaged, in use, or does not fit the pipeline.
    """
    settings = spark_settings(options)
    size = round_size(options, max(BATCH_SECONDS, settings.trigger_interval or 0))
    natives = native_reads(planned, session.spark, size.fixed)
    with ExitStack() as undo:
        directory = new_run_directory()
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        own = str(directory / "checkpoint")
        checkpoint = Checkpoint(session.spark, settings.checkpoint or own)
        lease = _taken(checkpoint, settings, session)
        if lease is not None:
            undo.callback(lease.release)
        streams = with_streams(planned, {native.read.label for native in natives})
        streams, manifest = _resumed(streams, checkpoint, settings, session)
        resumable = checkpoint if settings.checkpoint else None
        files = files_of_run(streams, settings, session.is_local, resumable)
        if resumable is None:
            undo.callback(remove, files)
        return StreamSetup(
            with_side_input_files(streams, files),
            session,
            settings,
            size,
            bool(options.view_as(StandardOptions).until_caught_up),
            natives,
            ControlFiles(directory),
            checkpoint,
            manifest,
            lease,
            files,
            is_unbounded(planned.graph),
            undo.pop_all(),
        )


def _taken(checkpoint: Checkpoint, settings: SparkSettings, session: Session) -> Lease | None:
    """Take the checkpoint; a run that cannot be resumed has one of its own."""
    if not settings.checkpoint:
        return None
    jvm: Any = session.spark._jvm
    lease = acquire(
        checkpoint.lease_files(),
        checkpoint.directory,
        replace=settings.replace_run,
        jvm=jvm.java.lang.ProcessHandle.current().pid(),
    )
    lease.keep()
    return lease


def _resumed(
    planned: Plan, checkpoint: Checkpoint, settings: SparkSettings, session: Session
) -> tuple[Plan, Manifest]:
    """Return the plan with the manifest that the checkpoint has, or with a new one."""
    if checkpoint.local_directory is not None:
        check_directory(checkpoint.local_directory, "--checkpoint")
    before = checkpoint.read()
    groups, spark = settings.key_groups, session.spark.version
    if before is None:
        cores = session.cores
        groups = groups or (default_key_groups(cores) if settings.checkpoint else cores)
        new = manifest_of(planned, groups, min(groups, cores), spark)
        return planned, attrs.evolve(new, directory=checkpoint.uri)
    planned = as_stored(planned, before)
    now = manifest_of(planned, groups or before.key_groups, before.partitions, spark)
    manifest = resumed(before, now, checkpoint.directory)
    if before.directory != checkpoint.uri:
        adapt(checkpoint)
    return planned, attrs.evolve(manifest, directory=checkpoint.uri)
