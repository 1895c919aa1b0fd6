"""States with a coder: each kind is stored encoded, and read again."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coders import Coder, PickleCoder, StrUtf8Coder, VarIntCoder
from headrace.errors import ElementError, PipelineError
from headrace.sdk.pardo.state.specs import EncodedState, StateSpec
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    MapStateSpec,
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    SetStateSpec,
)


def filled(spec: StateSpec, *calls: tuple[Any, ...]) -> Any:
    cell: Any = spec.new_cell()
    for name, *args in calls:
        getattr(cell, name)(*args)
    return cell


KINDS = [
    (BagStateSpec, VarIntCoder(), [("add", 300), ("add", 2)], "[b'\\xac\\x02', b'\\x02']"),
    (SetStateSpec, StrUtf8Coder(), [("add", "a")], "[b'a']"),
    (ReadModifyWriteStateSpec, StrUtf8Coder(), [("write", "a")], "b'a'"),
    (MapStateSpec, VarIntCoder(), [("put", "a", 1)], "[('a', b'\\x01')]"),
    (OrderedListStateSpec, VarIntCoder(), [("add", (1, 7))], "[(1000000, b'\\x07')]"),
]


@pytest.mark.parametrize(("spec", "coder", "calls", "stored"), KINDS, ids=lambda k: str(k)[:24])
def test_each_kind(spec, coder, calls, stored) -> None:
    plain, coded = spec("s"), spec("s", coder)
    cell = filled(coded, *calls)
    frozen = coded.freeze(cell)
    assert isinstance(frozen, EncodedState)
    assert repr(frozen.value) == stored
    assert coded.thaw(frozen).freeze() == cell.freeze()
    before = plain.freeze(filled(plain, *calls))
    assert coded.thaw(before).freeze() == cell.freeze(), "what was written before it had a coder"
    with pytest.raises(PipelineError, match="give the state its coder again"):
        plain.thaw(frozen)


def test_the_accumulator_of_a_combining_state() -> None:
    spec = CombiningValueStateSpec("s", VarIntCoder(), sum)
    cell = filled(spec, ("add", 3), ("add", 4))
    assert spec.freeze(cell).value == b"\x07"
    assert spec.thaw(spec.freeze(cell)).read() == 7  # type: ignore[attr-defined]


@pytest.mark.parametrize("coder", [VarIntCoder(), StrUtf8Coder()], ids=repr)
def test_a_value_that_the_coder_cannot_encode(coder: Coder) -> None:
    spec = BagStateSpec("seen", coder)
    with pytest.raises(ElementError, match=r"of the state 'seen' fails on \(1, 2\)"):
        spec.freeze(filled(spec, ("add", (1, 2))))


def test_a_specification_with_a_coder_can_be_sent() -> None:
    spec = BagStateSpec("seen", VarIntCoder())
    frozen = spec.freeze(filled(spec, ("add", 3)))
    again = PickleCoder().decode(PickleCoder().encode(spec))
    assert again.thaw(frozen).read() == [3]
