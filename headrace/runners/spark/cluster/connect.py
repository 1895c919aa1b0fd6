"""Spark Connect: sessions whose driver is a server, for pipelines in batch mode.

The client has no JVM, so there is no SparkContext: code travels as artifacts, and settings of a run are set
in the session and restored afterwards. Streaming is refused: Spark would call the sinks in a process of the
server, and Headrace's sinks, metrics and checkpoint manifest are in the client.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pyspark.sql import SparkSession

from headrace.errors import PipelineError, UnsupportedError
from headrace.runners.spark.cluster.requirements import is_installed

SCHEME: Final = "sc://"

_CLIENT_MODULES: Final = ("grpc", "grpc_status")


def is_connect(spark: object) -> bool:
    """Return whether a session is a client of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def remote_url(master: str | None) -> str | None:
    """Return the address of a Spark Connect server, from ``--spark-master`` or SPARK_REMOTE."""
    if master is not None:
        return master if master.startswith(SCHEME) else None
    return os.environ.get("SPARK_REMOTE") or None


def connect_session(url: str, conf: Mapping[str, str]) -> SparkSession:
    """Connect to a server.

    Raises:
        UnsupportedError: a package of Spark Connect's client is not installed, or the server does not answer.
    """
    lacking = [module for module in _CLIENT_MODULES if not is_installed(module)]
    if lacking:
        raise UnsupportedError(
            f"Spark Connect needs the module {lacking[0]}, which is not installed",
            where=url,
            remedy="pip install 'headrace[connect]'",
        )
    builder: Any = SparkSession.builder
    for name, value in conf.items():
        builder = builder.config(name, value)
    try:
        spark: SparkSession = builder.remote(url).getOrCreate()
        spark.version  # noqa: B018  # asks the server
    except ImportError as error:
        raise UnsupportedError(
            f"Spark Connect cannot be used: {error}",
            where=url,
            remedy="pip install 'headrace[connect]'",
        ) from error
    except Exception as error:
        raise UnsupportedError(
            f"the Spark Connect server does not answer: {str(error).splitlines()[0]}",
            where=url,
            remedy="start the server (sbin/start-connect-server.sh), or correct the address",
        ) from error
    return spark


def send_artifact(spark: Any, name: str, data: bytes) -> None:
    """Send a file of Python code to the server, which gives it to the workers."""
    with TemporaryDirectory(prefix="headrace-") as directory:
        path = Path(directory, name)
        path.write_bytes(data)
        spark.addArtifacts(str(path), pyfile=True)


@contextmanager
def run_settings(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Set settings for the time of a run; two runs in one session at a time share them.

    A DataFrame of the user belongs to this session, so the run cannot have a session of its own.
    """
    before = {name: spark.conf.get(name, None) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        yield spark
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def refuse_streaming(spark: object) -> None:
    """Refuse a pipeline in streaming mode in a session of Spark Connect.

    Raises:
        UnsupportedError: the session is of Spark Connect.
    """
    if is_connect(spark):
        raise UnsupportedError(
            "a streaming pipeline cannot run on Spark Connect: Spark would call its sinks on the server, "
            "away from this program",
            remedy="use a classic session (spark-submit, or --spark-master with another URL than sc://…), or "
            "run in batch mode",
        )


def refuse_master(spark: object, master: str | None) -> None:
    """Refuse a flag ``--spark-master`` that does not name the server of an active session.

    Raises:
        PipelineError: the flag names a classic master.
    """
    if master is not None and not master.startswith(SCHEME):
        raise PipelineError(
            "a Spark Connect session is already running",
            where=f"--spark-master {master}",
            remedy="remove the flag, or stop the session first (spark.stop())",
        )
