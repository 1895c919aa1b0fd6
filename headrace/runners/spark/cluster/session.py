"""The Spark session of a run: the user's where there is one, else one of our own with settings that fit.

A session is looked for in this order: the one that is given, the active one (of a notebook, or of an
earlier run), a new one.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

import attrs
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import PipelineError, UnsupportedError
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.runners.spark.cluster.new_session import RUN_CONF, is_local, new_session
from headrace.runners.spark.cluster.options import SparkSettings, spark_settings
from headrace.runners.spark.cluster.packaging import ship
from headrace.runners.spark.cluster.requirements import (
    check_found,
    check_local_python,
    check_packages,
    found_here,
)
from headrace.sdk.options import PipelineOptions


@attrs.frozen
class Session:
    """A Spark session, ready for a run.

    Args:
        spark: the session.
        owned: whether it was made for this run. Who has given it, or made it before, stops it.
    """

    spark: SparkSession
    owned: bool

    @property
    def is_local(self) -> bool:
        """Whether driver and workers are on this machine, under one roof."""
        return is_local(self.spark.sparkContext.master)

    @property
    def cores(self) -> int:
        """How many tasks run at once, as far as Spark says so."""
        return int(self.spark.sparkContext.defaultParallelism)


def prepare(options: PipelineOptions, given: SparkSession | None = None) -> Session:
    """Return a session whose workers have all the code they need, and have been asked whether they fit.

    Args:
        options: of the pipeline.
        given: the user's own session, or None.

    Raises:
        PipelineError: the options contradict each other or the session.
        UnsupportedError: something is missing, too old or too new, here or on the workers.
    """
    session = session_for(options, given)
    ship(session.spark, spark_settings(options).py_files)
    if not session.is_local:
        check_workers(session.spark)
    return session


def session_for(options: PipelineOptions, given: SparkSession | None = None) -> Session:
    """Return the given session, the active one, or a new one; see :func:`prepare`."""
    settings = spark_settings(options)
    check_packages()
    found = given if given is not None else active_session()
    if found is None:
        return Session(new_session(settings), owned=True)
    _check_kind(found)
    _check_master(found, settings)
    for name, value in settings.conf.items():
        _set(found, name, value)
    _same_python_when_local(found)
    return Session(found, owned=False)


def active_session() -> SparkSession | None:
    """Return the session of this thread, else of this process, if it has not been stopped."""
    try:
        found = SparkSession.active()
    except PySparkException:
        return None
    context: Any = found.sparkContext
    return found if context._jsc is not None else None


def session_of_run(spark: SparkSession, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session like a given one, with the settings of one run, that nobody else uses.

    The settings of the given session stay as they are, whatever runs at the same time.

    Args:
        spark: the session.
        conf: more settings, which win over `RUN_CONF`.
    """
    like: Any = spark
    own = SparkSession(spark.sparkContext, like._jsparkSession.cloneSession())
    for name, value in {**RUN_CONF, **(conf or {})}.items():
        own.conf.set(name, value)
    return own


def check_workers(spark: SparkSession) -> None:
    """Ask a worker of each executor, as far as tasks reach them, what is installed there.

    Raises:
        UnsupportedError: Python is another one there, or a package is missing or does not fit.
    """
    context = spark.sparkContext
    tasks = max(2, context.defaultParallelism)

    def ask(_: int) -> tuple[str, dict[str, str | None]]:
        return socket.gethostname(), found_here()

    with unwrapping():
        answers = context.parallelize(range(tasks), tasks).map(ask).collect()
    for host, found in answers:
        check_found(found, f"a worker on {host}")


def _check_kind(spark: Any) -> None:
    if not isinstance(spark, SparkSession) or spark.__class__.__module__.startswith(
        "pyspark.sql.connect"
    ):
        raise UnsupportedError(
            f"{type(spark).__module__}.{type(spark).__name__} is not a session that runs here",
            remedy="give a pyspark.sql.SparkSession; Spark Connect is not supported",
        )


def _check_master(spark: SparkSession, settings: SparkSettings) -> None:
    there = spark.sparkContext.master
    if settings.master and settings.master != there:
        raise PipelineError(
            f"there is a Spark session already, whose master is {there}",
            where=f"--spark-master {settings.master}",
            remedy="leave the flag out, or stop the session first (spark.stop())",
        )


def _set(spark: SparkSession, name: str, value: str) -> None:
    """Set one of Spark's settings on a session that exists, if it is not so already."""
    if spark.conf.get(name, None) == value:
        return
    try:
        spark.conf.set(name, value)
    except PySparkException as error:
        raise PipelineError(
            f"Spark takes {name} only when a session is made, and there is one already, "
            f"where it is {spark.conf.get(name, 'not set')}",
            where=f"--spark-conf {name}={value}",
            remedy="make the session with this setting, or stop it first (spark.stop())",
        ) from error


def _same_python_when_local(spark: SparkSession) -> None:
    """Let the workers of a local session run this Python, where nobody has said which."""
    context = spark.sparkContext
    if not is_local(context.master):
        return
    if "PYSPARK_PYTHON" in os.environ:
        check_local_python(context.pythonExec)
    else:
        context.pythonExec = sys.executable
