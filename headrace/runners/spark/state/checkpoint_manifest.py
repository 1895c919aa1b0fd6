"""What a checkpoint was made by: a small file beside Spark's own, read before a run goes on from it.

Spark's offsets and state only fit a plan like the one that wrote them. The file says which: sources and
groupings by their labels, and what of each decides over the shape of its state. So a pipeline that has
changed is compared step by step, and goes on, or is refused with the name of the step.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from headrace.errors import PipelineError
from headrace.runners.planning import KeyedStep, Plan
from headrace.runners.spark.sources.native import native_labels
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.graph import CombinePerKey, Read
from headrace.sdk.transform import callable_label

FORMAT: Final = 1
"""Version of what a checkpoint holds: this file, the positions in the offset log, and the state."""

FILE: Final = "headrace.json"


@attrs.frozen
class Manifest:
    """What a checkpoint was made by.

    Attributes:
        run: name of the run, for sinks that remember what they have written.
        key_groups: the number of key groups.
        partitions: the number of partitions of Spark's state.
        levels: the number of levels.
        sources: labels of the sources.
        steps: what decides over the state of each grouping, by its label.
        finished: whether the run has come to its end.
        natives: labels of the sources that Spark reads itself, in the order in which it knows them.
    """

    run: str
    key_groups: int
    partitions: int
    levels: int
    sources: tuple[str, ...]
    steps: Mapping[str, Mapping[str, str]]
    finished: bool = False
    natives: tuple[str, ...] = ()


def manifest_of(plan: Plan, key_groups: int, partitions: int) -> Manifest:
    """Return what a new checkpoint of a plan says."""
    return Manifest(
        run=uuid.uuid4().hex,
        key_groups=key_groups,
        partitions=partitions,
        levels=len(plan.levels),
        sources=tuple(node.label for node in plan.graph if isinstance(node, Read)),
        steps={label: _signature(step) for label, step in plan.steps.items()},
        natives=native_labels(plan),
    )


def _signature(step: KeyedStep) -> dict[str, str]:
    strategy, node = step.strategy, step.node
    combine = _name_of(node.combine_fn) if isinstance(node, CombinePerKey) else "none"
    said = {
        "windows": strategy.window_fn,
        "trigger": strategy.trigger,
        "accumulation mode": strategy.accumulation_mode.name,
        "timestamp combiner": strategy.timestamp_combiner.name,
        "combine function": combine,
        "content": type(step.reduction).__name__,
        "state": "by key" if step.column_precombiner(batch=False) is None else "by window",
    }
    return {name: re.sub(r" at 0x[0-9a-f]+", "", str(value)) for name, value in said.items()}


def _name_of(combine_fn: CombineFn) -> str:
    """Return the name of a combine function; the place of a lambda in its file is left out."""
    kind, name = type(combine_fn).__qualname__, callable_label(combine_fn)
    return f"{kind}({re.sub(r'<lambda at .*>', 'lambda', name)})"


def resumed(before: Manifest, now: Manifest, checkpoint: str) -> Manifest:
    """Return what a checkpoint says when a run goes on from it.

    Steps are known by their labels. New sinks, element-wise steps and groupings of levels that exist may
    come; what has state may neither go nor change.

    Raises:
        PipelineError: the pipeline has changed so that it cannot go on.
    """
    for where, what in _differences(before, now):
        raise PipelineError(
            f"the checkpoint {checkpoint} cannot be resumed by this pipeline: {what}",
            where=where,
            remedy="undo the change, or start from a new checkpoint",
        )
    return attrs.evolve(now, run=before.run, finished=before.finished)


def _differences(before: Manifest, now: Manifest) -> Iterator[tuple[str, str]]:
    """Yield what has changed, and where."""
    for label in before.sources:
        if label not in now.sources:
            yield label, f"there is no source {label!r} any more"
    for label in sorted({*before.natives} ^ {*now.natives}):
        what = "was one, and is none" if label in before.natives else "is one, and was none"
        yield label, f"the sources that Spark reads itself must stay the same, and {label!r} {what}"
    for label, signature in before.steps.items():
        if label in now.steps:
            yield from _changes(label, signature, now.steps[label])
        else:
            yield label, f"there is no grouping {label!r} any more"
    for name in ("levels", "key_groups", "partitions"):
        one, other = getattr(before, name), getattr(now, name)
        if one != other:
            yield "", f"it had {one} {name.replace('_', ' ')}, and has {other}{_why(name)}"


def _changes(
    label: str, before: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, said in before.items():
        if now.get(name) != said:
            yield label, f"its {name} was {said}, and is {now.get(name)}"


def _why(name: str) -> str:
    if name != "levels":
        return ""
    return " (a grouping behind the last one, or one less: Spark keeps state by level)"


MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"
_MANAGERS: Final = "org.apache.spark.sql.execution.streaming.checkpointing"


class Checkpoint:
    """The file in a checkpoint's directory, wherever Spark can write.

    Args:
        session: whose file systems are used.
        directory: the checkpoint.
    """

    def __init__(self, session: SparkSession, directory: str) -> None:
        self._session = session
        jvm: Any = session._jvm
        hadoop: Any = session._jsc.hadoopConfiguration()
        self.directory = directory
        self._path = jvm.org.apache.hadoop.fs.Path(directory, FILE)
        self._aside = self._path.suffix(".new")
        self._files = self._path.getFileSystem(hadoop)
        self._io = jvm.org.apache.commons.io.IOUtils

    @property
    def conf(self) -> dict[str, str]:
        """Settings of Spark's for where it lies.

        By default Spark starts a shell command for each file that it puts up on a local disk, several a
        batch. Renaming is as atomic without. What the user has chosen stays.
        """
        local = self._files.getUri().getScheme() == "file"
        if not local or self._session.conf.get(MANAGER, None) is not None:
            return {}
        return {MANAGER: f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"}

    def read(self) -> Manifest | None:
        """Return what the checkpoint says; None if it is new.

        Raises:
            PipelineError: the checkpoint is damaged, is none of Headrace's, or has another format.
        """
        if self._files.exists(self._path):
            return self._parsed(self._text(self._path))
        if not self._has_offsets():
            return None
        if self._files.exists(self._aside):  # a crash came between delete and rename
            return self._parsed(self._text(self._aside))
        raise PipelineError(
            f"the checkpoint {self.directory} holds offsets, but no {FILE}: it is damaged, or "
            "another program's",
            remedy="restore it from a copy, or start from a new checkpoint",
        )

    def write(self, manifest: Manifest) -> None:
        """Replace what the checkpoint says."""
        said = json.dumps({"format": FORMAT, **attrs.asdict(manifest)}, indent=1)
        if self._has_offsets() and not self._files.exists(self._path):
            self._files.rename(self._aside, self._path)  # else there were none while it is written
        stream = self._files.create(self._aside, True)
        try:
            stream.write(bytearray(said.encode()))
        finally:
            stream.close()
        self._files.delete(self._path, False)
        self._files.rename(self._aside, self._path)

    def _text(self, path: Any) -> bytes:
        stream = self._files.open(path)
        try:
            return bytes(self._io.toByteArray(stream))
        except Exception as error:  # of Java: a wrong checksum
            raise self._damaged() from error
        finally:
            stream.close()

    def _parsed(self, text: bytes) -> Manifest:
        try:
            said = json.loads(text)
            version = said.pop("format")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise self._damaged() from error
        if version != FORMAT:
            raise PipelineError(
                f"the checkpoint {self.directory} has format {version}, and this version of Headrace "
                f"reads format {FORMAT}",
                remedy="resume it with the version that wrote it, or start from a new checkpoint",
            )
        try:
            natives = tuple(said.get("natives", ()))
            return Manifest(**{**said, "sources": tuple(said["sources"]), "natives": natives})
        except (TypeError, KeyError) as error:
            raise self._damaged() from error

    def _damaged(self) -> PipelineError:
        return PipelineError(
            f"the checkpoint {self.directory} is damaged: {FILE} cannot be read",
            remedy="restore it from a copy, or start from a new checkpoint",
        )

    def _has_offsets(self) -> bool:
        offsets = self._path.getParent().suffix("/offsets")
        return self._files.exists(offsets) and len(self._files.listStatus(offsets)) > 0
