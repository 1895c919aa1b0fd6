"""Writes, matches and reads objects of S3: ``python -m tests.unit.sdk.io.s3_program RUNNER BUCKET``.

It is a process of its own, so that also the workers of Spark have the environment of the server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import headrace as hr
from headrace.io import fileio
from headrace.io.filesystems import FileSystems
from tests.unit.sdk.io.files import Applied, pipeline, values

LINES = ["one", "two", "three"]

EVERY: dict[str, Any] = {"interval": 10, "start_timestamp": 0, "stop_timestamp": 10}
"""A single poll, which is due."""


def written(runner: str, root: str) -> dict[str, list[str]]:
    """Write objects in several ways; return their names."""
    with pipeline(runner) as p:
        lines = p | hr.Create(LINES)
        _ = lines | hr.io.WriteToText(f"{root}/text/out", ".txt.gz", num_shards=2)
        _ = lines | hr.Map(as_record) | hr.io.WriteToAvro(f"{root}/avro/out", num_shards=1)
        _ = lines | fileio.WriteToFiles(f"{root}/files", destination=len, shards=1)
    return {kind: names(f"{root}/{kind}/*") for kind in ("text", "avro", "files")}


def as_record(line: str) -> dict[str, str]:
    return {"line": line}


def names(pattern: str) -> list[str]:
    found = FileSystems.match([pattern])[0].metadata_list
    return [file.path.rpartition("/")[2] for file in found]


def read(runner: str, root: str) -> dict[str, list[Any]]:
    """Read them in several ways."""
    text, avro, files = (f"{root}/{kind}/*" for kind in ("text", "avro", "files"))
    content = hr.Map(content_of)
    ways: dict[str, Callable[[], list[Any]]] = {
        "names": lambda: values(runner, Applied(hr.Create([text]), hr.io.ReadAllFromText())),
        "records": lambda: values(runner, Applied(hr.Create([avro]), hr.io.ReadAllFromAvro())),
        "whole": lambda: values(
            runner, Applied(fileio.MatchFiles(files), fileio.ReadMatches(), content)
        ),
        "continuously": lambda: values(
            runner, hr.io.ReadAllFromTextContinuously(text, **EVERY), "streaming"
        ),
    }
    return {way: sorted(found(), key=str) for way, found in ways.items()}


def content_of(file: Any) -> str:
    return str(file.read_utf8())


if __name__ == "__main__":
    runner, bucket = sys.argv[1:]
    report = {"written": written(runner, f"s3://{bucket}"), "read": read(runner, f"s3://{bucket}")}
    print(json.dumps(report))
