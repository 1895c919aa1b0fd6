"""What the process that describes a query's state to Spark does with a level: no more than it needs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import headrace as hr
from headrace.runners.plan.planning import plan
from headrace.runners.spark.cluster.jvm_log_filter import _STATE_DESCRIBER
from headrace.runners.spark.keyed_processor import KeyedProcessor
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.streaming import KeyedStage, StreamPlan

DESCRIBES = """
import importlib.machinery, pickle, sys
sys.modules["__main__"].__spec__ = importlib.machinery.ModuleSpec(sys.argv[1], None)
with open("processor", "rb") as file:
    processor = pickle.load(file)
class Handle:
    def getValueState(self, name, schema):
        print(name, file=sys.stderr)
    def getMapState(self, name, keys, values):
        print(name, file=sys.stderr)
processor.init(Handle())
print("headrace.runners.spark.streaming" in sys.modules, file=sys.stderr)
print("it says too much")
"""


def test_it_is_silent_and_does_not_import_what_processes_rows(tmp_path: Path) -> None:
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | hr.GroupByKey()
    level = StreamPlan(stage_plans(plan(p.graph), 1, batch=False)[1], "run", "start")
    (tmp_path / "processor").write_bytes(pickle.dumps(KeyedProcessor(KeyedStage(level))))
    command = [sys.executable, "-c", DESCRIBES, _STATE_DESCRIBER]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr.split()) == ("", ["directories", "chunks", "False"])
