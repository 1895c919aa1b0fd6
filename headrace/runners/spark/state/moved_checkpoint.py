"""A checkpoint that was moved, or copied: Spark's notes of its state have the full paths that it had."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from headrace.runners.spark.state.checkpoint_manifest import Checkpoint
from headrace.runners.spark.state.lease_files import LeaseFiles

_PATH: Final = re.compile(r'"[^"]*(/state/\d+/_stateSchema/[^"]*)"')


def adapt(checkpoint: Checkpoint) -> None:
    """Let the paths in a checkpoint lead to where it is now.

    On a local disk each file is replaced at once, so that a run that is killed meanwhile can start again.

    Args:
        checkpoint: the checkpoint; no run may be active on it.
    """
    for files, name in _notes(checkpoint):
        text = files.read(name) or ""
        adapted = with_paths(text, checkpoint.uri)
        if adapted != text:
            files.delete(f".{name}.crc")  # the checksum that Hadoop has written beside a local file
            files.replace(name, adapted)


def _notes(checkpoint: Checkpoint) -> Iterator[tuple[LeaseFiles, str]]:
    """Yield the files with the notes on the state of each operator of Spark."""
    for operator in filter(str.isdecimal, checkpoint.files("state").names()):
        files = checkpoint.files(f"state/{operator}/_metadata/v2")
        yield from ((files, name) for name in filter(str.isdecimal, files.names()))


def with_paths(text: str, uri: str) -> str:
    """Return a note whose paths are below a directory.

    >>> with_paths(
    ...     '{"stateSchemaFilePaths":["file:/old/state/0/_stateSchema/default/0_1"]}', "file:/new"
    ... )
    '{"stateSchemaFilePaths":["file:/new/state/0/_stateSchema/default/0_1"]}'
    """
    quoted = json.dumps(uri, ensure_ascii=False)[1:-1]
    return _PATH.sub(lambda found: f'"{quoted}{found[1]}"', text)
