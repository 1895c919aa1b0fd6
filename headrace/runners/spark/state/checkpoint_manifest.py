"""The manifest of a checkpoint: a small file next to Spark's files, read before a run is resumed.

Spark's offsets and state fit only a plan like the one that wrote them. The manifest describes that plan: the
labels of its sources and groupings, and of each grouping the properties on which its state depends, among
them its fact sheet (:mod:`headrace.grouping.facts`). A changed pipeline is compared step by step; it is
resumed, or refused with the name of the step.

A later version may add a field without a new format if a version that does not know it may ignore it, and if
the field has a default for the manifests that do not have it. A property of a step that a manifest does not
have is not compared. All other changes raise the number of the format.
"""

from __future__ import annotations

import json
import pathlib
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

import attrs
from pyspark.sql import Column, SparkSession

from headrace.errors import PipelineError
from headrace.grouping.facts import Firing
from headrace.runners.contents.grouping_paths import Execution, Keep
from headrace.runners.plan.planning import (
    KeyedStep,
    Plan,
    SideInputStep,
    StatefulStep,
    StepWithSides,
    StepWithState,
)
from headrace.runners.spark.cluster.spark_versions import minor, spark_version
from headrace.runners.spark.shuffle.placement import place_column
from headrace.runners.spark.sources.native import native_labels
from headrace.runners.spark.sources.timed_groupings import untimed
from headrace.runners.spark.sources.worker_reads import observed_labels
from headrace.runners.spark.state.lease_files import (
    DIRECTORY,
    HadoopLeaseFiles,
    LeaseFiles,
    LocalLeaseFiles,
)
from headrace.runners.spark.state.signature import signature
from headrace.sdk.coders.stored.data import FORMAT
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pipelines.graph import CombinePerKey, Read, SplittableParDo
from headrace.sdk.typehints.labels import callable_label
from headrace.stored_formats import MANIFEST, VERSION, check_format

FILE: Final = "headrace.json"


@attrs.frozen
class Manifest:
    """The description of the pipeline that wrote a checkpoint.

    Attributes:
        run: name of the run, for sinks that record the batches that they have written.
        key_groups: number of key groups.
        partitions: number of partitions of Spark's state.
        levels: number of levels.
        sources: labels of the sources.
        steps: the properties of each grouping on which its state depends, by label.
        natives: labels of the sources that Spark reads itself, in the order of Spark's offset log.
        observed: labels of the sources that the workers read and whose watermarks are in Spark's state.
        spark: Spark's minor version.
        data: the format of stored data.
        timed: for groupings that know which elements are late, the labels of the sources by whose watermarks
            they do, since their state began.
        finished: whether the run is finished.
        headrace: the version of Headrace that wrote it last, or an earlier one with the same formats.
        directory: where the checkpoint was then.
    """

    run: str
    key_groups: int
    partitions: int
    levels: int
    sources: tuple[str, ...]
    steps: Mapping[str, Mapping[str, str]]
    natives: tuple[str, ...]
    observed: tuple[str, ...]
    spark: str
    data: int
    timed: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    finished: bool = False
    headrace: str = ""
    directory: str = ""

    @property
    def place(self) -> Column:
        """The setting by which Spark partitions data and keeps state."""
        return place_column(self.key_groups, self.partitions)


def manifest_of(plan: Plan, key_groups: int, partitions: int, spark: str) -> Manifest:
    """Return the manifest of a new checkpoint.

    Args:
        plan: the plan.
        key_groups: number of key groups.
        partitions: number of partitions of Spark's state.
        spark: the version of Spark.
    """
    return Manifest(
        run=uuid.uuid4().hex,
        key_groups=key_groups,
        partitions=partitions,
        levels=len(plan.levels),
        sources=tuple(node.label for node in plan.graph if isinstance(node, Read)),
        steps={label: _properties(step) for label, step in plan.steps.items()},
        natives=native_labels(plan),
        observed=observed_labels(plan),
        spark=minor(spark),
        data=FORMAT,
        timed={label: s.timed_by for label, s in plan.steps.items() if _is_timed(s)},
        headrace=VERSION,
    )


def _is_timed(step: StepWithState) -> TypeGuard[KeyedStep]:
    return isinstance(step, KeyedStep) and bool(step.timed_by)


def _properties(step: StepWithState) -> dict[str, str]:
    if isinstance(step, SideInputStep):
        return _properties_of_sides(step)
    if isinstance(step.node, SplittableParDo):
        return {"restrictions": type(step.node.dofn).__name__}
    if isinstance(step, StatefulStep):
        return _properties_of_dofn(step)
    strategy, node = step.strategy, step.node
    combine = _name_of(node.combine_fn) if isinstance(node, CombinePerKey) else "none"
    return {
        "windows": signature(strategy.window_fn),
        "trigger": signature(strategy.trigger),
        "accumulation mode": strategy.accumulation_mode.name,
        "timestamp combiner": strategy.timestamp_combiner.name,
        "combine function": combine,
        **step.facts.named,
        "state": step.path(Execution.SHUFFLED).keep.value,
    }


def _properties_of_dofn(step: StatefulStep) -> dict[str, str]:
    declared = step.node.declared
    kinds = {f"the state {n!r}": type(spec).__name__ for n, spec in declared.states.items()}
    domains = {f"the timer {n!r}": spec.time_domain for n, spec in declared.timers.items()}
    sides = {"side inputs": _sides(step)} if step.sides else {}
    return {"windows": signature(step.strategy.window_fn), **sides, **kinds, **domains}


def _properties_of_sides(step: SideInputStep) -> dict[str, str]:
    return {"windows": signature(step.strategy.window_fn), "side inputs": _sides(step)}


def _sides(step: StepWithSides) -> str:
    sides = (f"{signature(side.window_fn)}, {side.accumulation_mode.name}" for side in step.sides)
    return "; ".join(sides)


def _name_of(combine_fn: CombineFn) -> str:
    """Return the name of a combine function, without the file position of a lambda."""
    kind, name = type(combine_fn).__qualname__, callable_label(combine_fn)
    return f"{kind}({re.sub(r'<lambda at .*>', 'lambda', name)})"


def as_stored(plan: Plan, before: Manifest) -> Plan:
    """Return a plan whose groupings fit what a checkpoint has of them.

    Earlier versions kept full states of all keys of a grouping with a late output. If a grouping has other
    sources than when its state began, its watermark can be later than theirs.
    """
    steps = {label: _as_stored(s, before.steps.get(label, {})) for label, s in plan.steps.items()}
    for label, step in steps.items():
        sources = tuple(before.timed.get(label, ()))
        if label in before.steps and _is_timed(step) and step.timed_by != sources:
            steps[label] = untimed(step)
    return attrs.evolve(plan, steps=steps)


def _as_stored(step: StepWithState, before: Mapping[str, str]) -> StepWithState:
    if not (isinstance(step, KeyedStep) and step.facts.late_output):
        return step
    if before.get("state") != Keep.FULL.value:
        return step
    return attrs.evolve(step, facts=attrs.evolve(step.facts, panes=Firing(before["firing"])))


def resumed(before: Manifest, now: Manifest, checkpoint: str) -> Manifest:
    """Return the manifest of a resumed run.

    Steps are identified by their labels. Sinks, element-wise steps and groupings of existing levels can be
    added; steps with state can be neither removed nor changed.

    Raises:
        PipelineError: the changed pipeline cannot resume the checkpoint.
    """
    if before.spark != now.spark:
        raise _other_spark(before.spark, now.spark, checkpoint)
    for where, what in _differences(before, now):
        raise PipelineError(
            f"the checkpoint {checkpoint} cannot be resumed by this pipeline: {what}",
            where=where,
            remedy="undo the change, or start with a new checkpoint",
        )
    kept = ("run", "finished", "observed")
    return attrs.evolve(now, **{name: getattr(before, name) for name in kept})


def _other_spark(before: str, now: str, checkpoint: str) -> PipelineError:
    return PipelineError(
        f"Spark {before} wrote the checkpoint {checkpoint}, and Spark {now} may read its state and offsets "
        "differently",
        remedy=f"resume it with Spark {before} (pip install 'pyspark=={before}.*'), or start with a new "
        f"checkpoint; to change to Spark {now}, drain the run with Spark {before} first",
    )


def _differences(before: Manifest, now: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the label and description of each incompatible change."""
    for label in before.sources:
        if label not in now.sources:
            yield label, f"the source {label!r} was removed"
    for label in sorted({*before.natives} ^ {*now.natives}):
        what = "was removed" if label in before.natives else "was added"
        yield label, f"the sources that Spark reads itself must stay the same, but {label!r} {what}"
    for label, properties in before.steps.items():
        if label in now.steps:
            yield from _changes(label, properties, now.steps[label])
        else:
            yield label, f"the step {label!r} was removed; its state is in the checkpoint"
    for name in ("levels", "key_groups", "partitions"):
        one, other = getattr(before, name), getattr(now, name)
        if one != other:
            yield "", f"it had {one} {name.replace('_', ' ')} and now has {other}{_why(name)}"


def _changes(
    label: str, before: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    one, other = _kind(before), _kind(now)
    if one != other:
        yield label, f"it was {one} and is now {other}"
        return
    for name, value in before.items():
        own = name.removeprefix("the ")
        if name not in now:
            yield label, f"its {own} was removed"
        elif now[name] != value:
            yield label, f"its {own} changed from {value} to {now[name]}"


def _kind(properties: Mapping[str, str]) -> str:
    """Return the kind of the step with these properties; each kind keeps state of its own."""
    if "trigger" in properties:
        return "a grouping"
    has_cells = any(name.startswith(("the state ", "the timer ")) for name in properties)
    return "a stateful DoFn" if has_cells else "a step with side inputs"


def _why(name: str) -> str:
    if name != "levels":
        return ""
    return " (Spark keeps state by level, so the depth of groupings must stay the same)"


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that this version knows."""
    return {
        field.name: fields[field.name] for field in attrs.fields(Manifest) if field.name in fields
    }


MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"


class Checkpoint:
    """The manifest file of a checkpoint, on any file system that Spark can write to.

    Args:
        session: the session that provides the file systems.
        directory: the directory of the checkpoint.
    """

    def __init__(self, session: SparkSession, directory: str) -> None:
        self._session = session
        jvm: Any = session._jvm
        hadoop: Any = session._jsc.hadoopConfiguration()
        self.directory = directory
        self._path = jvm.org.apache.hadoop.fs.Path(directory, FILE)
        self._new_path = self._path.suffix(".new")
        self._files = self._path.getFileSystem(hadoop)
        self._io = jvm.org.apache.commons.io.IOUtils

    @property
    def conf(self) -> dict[str, str]:
        """Spark settings for the file system of the checkpoint.

        By default Spark runs a shell command for each file that it publishes on a local disk, several per
        batch. Renaming is atomic without this. A setting of the user is kept.
        """
        local = self._files.getUri().getScheme() == "file"
        if not local or self._session.conf.get(MANAGER, None) is not None:
            return {}
        package = spark_version(self._session.version).checkpoint_package
        return {MANAGER: f"{package}.FileSystemBasedCheckpointFileManager"}

    @property
    def local_directory(self) -> str | None:
        """The path of the directory if it is on a file system that Python can open; else None."""
        if self._files.getUri().getScheme() != "file":
            return None
        path: str = self._files.makeQualified(self._path).getParent().toUri().getPath()
        return path

    @property
    def uri(self) -> str:
        """The directory with its file system."""
        return str(self._files.makeQualified(self._path).getParent().toString())

    def lease_files(self) -> LeaseFiles:
        """Return the files of the leases of the runs on the checkpoint."""
        return self.files(DIRECTORY)

    def files(self, directory: str) -> LeaseFiles:
        """Return the files of a directory in the checkpoint.

        Args:
            directory: its path in the checkpoint.
        """
        local = self.local_directory
        if local is not None:
            return LocalLeaseFiles(pathlib.Path(local, directory))
        path = self._path.getParent().suffix(f"/{directory}")
        return HadoopLeaseFiles(self._files, path, self._io)

    def read(self) -> Manifest | None:
        """Return the manifest; None if the checkpoint is new.

        Raises:
            PipelineError: the checkpoint is damaged, was not written by Headrace, or has another format.
        """
        if self._files.exists(self._path):
            return self._parsed(self._text(self._path))
        if not self._has_offsets():
            return None
        if self._files.exists(self._new_path):  # a crash between delete and rename
            return self._parsed(self._text(self._new_path))
        raise PipelineError(
            f"the checkpoint {self.directory} has offsets but no {FILE}: it is damaged, or was written by "
            "another program",
            remedy="restore it from a backup, or start with a new checkpoint",
        )

    def write(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        text = json.dumps({"format": MANIFEST, **attrs.asdict(manifest)}, indent=1)
        if self._has_offsets() and not self._files.exists(self._path):
            self._files.rename(self._new_path, self._path)  # so that one exists during the write
        stream = self._files.create(self._new_path, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self._files.delete(self._path, False)
        self._files.rename(self._new_path, self._path)

    def _text(self, path: object) -> bytes:
        stream = self._files.open(path)
        try:
            return bytes(self._io.toByteArray(stream))
        except Exception as error:  # a Java error: wrong checksum
            raise self._damaged() from error
        finally:
            stream.close()

    def _parsed(self, text: bytes) -> Manifest:
        try:
            fields = json.loads(text)
            version = fields.pop("format")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise self._damaged() from error
        wrote = str(fields.get("headrace", ""))
        check_format(f"the checkpoint {self.directory}", version, "manifest", wrote=wrote)
        try:
            what = f"the data of the checkpoint {self.directory}"
            check_format(what, fields["data"], "data", wrote=wrote)
            labels = {name: tuple(fields[name]) for name in ("sources", "natives", "observed")}
            return Manifest(**{**_known(fields), **labels})
        except (TypeError, KeyError) as error:
            raise self._damaged() from error

    def _damaged(self) -> PipelineError:
        return PipelineError(
            f"the checkpoint {self.directory} is damaged: {FILE} cannot be read",
            remedy="restore it from a backup, or start with a new checkpoint",
        )

    def _has_offsets(self) -> bool:
        offsets = self._path.getParent().suffix("/offsets")
        return self._files.exists(offsets) and len(self._files.listStatus(offsets)) > 0
