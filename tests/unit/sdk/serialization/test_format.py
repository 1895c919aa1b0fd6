"""The format of stored data: what it holds, that it stays, and what it refuses without pickle."""

from __future__ import annotations

import base64
import io
import json
import pickle
import pickletools
import subprocess
import sys
import threading
from collections import Counter, OrderedDict, deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.coders import registry
from headrace.errors import ElementError, PipelineError
from headrace.sdk.coders.stored.data import FORMAT, dumps, loads
from headrace.sdk.coders.stored.names import OWN_NAMES
from headrace.sdk.coders.stored.stable import without_pickle
from headrace.triggers.pane import PaneInfo, PaneInfoTiming
from headrace.windowing import GlobalWindow, IntervalWindow
from tests.unit.sdk.serialization import classes

GOLDEN = Path(__file__).with_name("format_2.json")

VALUES: dict[str, Any] = {
    "numbers": [0, -1, 1 << 100, 2.5, float("inf"), True, None, 1j],
    "text": ["", "grüße", b"\x00\xff", bytearray(b"a")],
    "times": [
        datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        date(2026, 1, 2),
        timedelta(seconds=1),
        hr.Timestamp(1.5),
        hr.Duration(2),
    ],
    "containers": [(1, ("a",)), [1, [2]], {"a": {1: 2}}, {3}, frozenset({4}), deque([5])],
    "more": [Decimal("1.50"), Fraction(1, 3), UUID(int=7), OrderedDict(a=1), Counter("aab")],
    "rows": [hr.Row(a=1, b="x"), classes.Pair("tea", 3), classes.Attrs("tea", 3)],
    "dataclasses": [classes.Plain("tea", 3), classes.Slots("tea", 3), classes.Kind.CARD],
    "windows": [IntervalWindow(0, 60), GlobalWindow()],
    "panes": [PaneInfo(True, False, PaneInfoTiming.EARLY, 0, -1), hr.TimestampedValue(1, 2)],
}


@pytest.mark.parametrize("name", VALUES)
def test_what_version_2_wrote_is_read(name: str) -> None:
    assert FORMAT == 2, "keep what format 2 wrote, and add a file for the new one"
    written = json.loads(GOLDEN.read_text())[name]
    with without_pickle():
        assert loads(base64.b64decode(written)) == VALUES[name]


@pytest.mark.parametrize("name", VALUES)
def test_everything_comes_back_without_pickle(name: str) -> None:
    with without_pickle():
        read = loads(dumps(VALUES[name]))
    assert read == VALUES[name]
    assert list(map(type, read)) == list(map(type, VALUES[name]))


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


@given(PLAIN)
def test_plain_data_needs_no_class(value: Any) -> None:
    data = dumps(value)
    assert loads(data) == value
    names = {op.name for op, _, _ in pickletools.genops(data)}
    assert not names & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NEWOBJ", "EXT1"}


def test_what_stored_data_refers_to_is_there() -> None:
    for module, name in OWN_NAMES:
        assert getattr(import_module(module), name) is not None


def test_what_pickle_alone_writes_is_read_by_a_process_without_us() -> None:
    """A plan is pickled, and unpickled by a worker that has imported nothing yet."""
    data = pickle.dumps([hr.Timestamp(1), IntervalWindow(0, 1), hr.Row(a=1)])
    code = f"import pickle; print(pickle.loads({data!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[Timestamp(1), [0.0, 1.0), Row(a=1)]\n"


@pytest.mark.parametrize(
    "value",
    [classes.Own("tea"), [(1, classes.Own("tea"))], io.StringIO("a"), len, classes.Own],
    ids=["object", "nested", "of the library", "function", "class"],
)
def test_what_only_pickle_can_write_is_refused(value: Any) -> None:
    with without_pickle(), pytest.raises(ElementError, match="would be pickled, which --no-pickle"):
        dumps(value)


def test_a_coder_is_enough() -> None:
    registry.register_coder(classes.Own, classes.OwnCoder)
    with without_pickle():
        assert loads(dumps([classes.Own("tea")])) == [classes.Own("tea")]


class Attack:
    """What runs a function when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("1 + 1",)


@pytest.mark.parametrize("data", [pickle.dumps(Attack()), dumps(classes.Own("tea"))])
def test_what_only_pickle_can_read_is_refused(data: bytes) -> None:
    with without_pickle(), pytest.raises(PipelineError, match="which --no-pickle forbids"):
        loads(data)


def test_a_name_finds_only_classes_that_are_written_by_name() -> None:
    from headrace.sdk.coders.stored.restoring import stored_class

    assert stored_class("subprocess.Popen", None) is not None
    with without_pickle(), pytest.raises(PipelineError, match=r"subprocess\.Popen"):
        stored_class("subprocess.Popen", None)


def test_values_spill_to_disk_in_the_format() -> None:
    """A group that is larger than memory can hold values that only a coder can write."""
    pytest.importorskip("pyspark")
    from headrace.runners.spark.shuffle.spilling import SpilledList, SpillFile

    class Locked(classes.Own):
        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.lock = threading.Lock()

    class LockedCoder(classes.OwnCoder):
        def decode(self, encoded: bytes) -> Any:
            return Locked(encoded.removeprefix(b"own ").decode())

    registry.register_coder(Locked, LockedCoder)
    spilled = SpilledList(SpillFile())
    spilled.extend([Locked("tea")])
    spilled.spill()
    assert [value.text for value in spilled] == ["tea"]
