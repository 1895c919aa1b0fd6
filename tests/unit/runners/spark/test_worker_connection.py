"""What a task unpickles first acknowledges, so that the JVM sends the rows at once."""

from __future__ import annotations

import pickle
import socket
import sys

import pytest

import headrace as hr
from headrace.runners.plan.planning import plan
from headrace.runners.spark.keyed_processor import KeyedProcessor
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.streaming import KeyedStage, StreamPlan
from headrace.runners.spark.worker.connection import acknowledge, connection_to_jvm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the option is one of Linux")


def acknowledges(function: bytes) -> bool:
    """Return whether a worker acknowledges at once after it has unpickled a function."""
    connection = connection_to_jvm()
    assert connection is not None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    pickle.loads(function)
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


def test_stages_and_processors_acknowledge(spark):
    p = hr.Pipeline(runner="local")
    _ = p | hr.Create([("a", 1)]) | hr.GroupByKey()
    first, second = stage_plans(plan(p.graph), 2, batch=False)
    processor = KeyedProcessor(KeyedStage(StreamPlan(second, "run", "start")))
    functions = [pickle.dumps(each) for each in (first, processor, "neither")]
    found = spark.sparkContext.parallelize(functions, 1).map(acknowledges).collect()
    assert found == [True, True, False]


def test_nothing_outside_tasks():
    connection_to_jvm.cache_clear()
    acknowledge()
    assert not connection_to_jvm.cache_info().misses
