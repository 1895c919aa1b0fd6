"""A checkpoint is read by the next version of a program, whose classes are renamed or have fields more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.coders import RowCoder, registry
from headrace.transforms.userstate import BagStateSpec
from headrace.triggers import AccumulationMode
from headrace.windowing import FixedWindows
from tests.faults.runs import Lines, append, finish, lines_of, start, write
from tests.unit.sdk.serialization import classes
from tests.unit.sdk.serialization.registry import clean_registry

pytestmark = pytest.mark.usefixtures("spark")


class Kept(hr.DoFn):
    """Keeps values, and shows all of the key at each new one."""

    SEEN = BagStateSpec("seen")
    CODED = BagStateSpec("coded", classes.OwnCoder())

    def process(self, element, seen=hr.DoFn.StateParam(SEEN), coded=hr.DoFn.StateParam(CODED)):
        key, value = element
        seen.add(value)
        coded.add(classes.Own(key))
        yield key, seen.read(), coded.read()


class Program:
    """Lines -> sales; all of a key in a state, and those of a window as a group; keys have a coder."""

    def __init__(self, home: Path, source: Lines, sale: type, own: type) -> None:
        self.home, self.source, self.sale, self.own = home, source, sale, own

    def __call__(self, p: hr.Pipeline) -> None:
        sale, own = self.sale, self.own
        sales = (
            p
            | "lines" >> hr.Read(self.source, hr.Monotonic())
            | "sale" >> hr.MapTuple(lambda item, price: (item, sale(item=item, price=price)))
        )
        self.write(sales | "kept" >> hr.ParDo(Kept()), "kept")
        groups = (
            sales
            | "own keys" >> hr.MapTuple(lambda item, sale: (own(item), sale))
            | hr.WindowInto(FixedWindows(10), accumulation_mode=AccumulationMode.DISCARDING)
            | "group" >> hr.GroupByKey()
        )
        self.write(groups | hr.MapTuple(lambda key, values: (key.text, list(values))), "groups")

    def write(self, collection: Any, name: str) -> None:
        _ = collection | f"{name} files" >> hr.io.WriteToText(self.home / "files" / name)


def registered(monkeypatch: pytest.MonkeyPatch, sale: type, own: type, coder: Any) -> None:
    clean_registry(monkeypatch)
    registry.register_coder(sale, RowCoder, name="shop.Sale")
    registry.register_coder(own, coder, name="shop.Own")


def test_a_class_renamed_with_a_field_more(tmp_path, monkeypatch) -> None:
    source = write(tmp_path / "lines", p=["1 tea 1", "2 milk 2"])
    registered(monkeypatch, classes.Attrs, classes.Own, classes.OwnCoder)
    run = start(Program(tmp_path, source, classes.Attrs, classes.Own), tmp_path, "--no-pickle")
    while len(lines_of(tmp_path, "kept")) < 2:
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"
    append(tmp_path / "lines", "p", "3 tea 5", "end")
    registered(monkeypatch, classes.LaterAttrs, classes.Later, classes.LaterCoder)
    later = Program(tmp_path, source, classes.LaterAttrs, classes.Later)
    assert finish(later, tmp_path, "--no-pickle") == "DONE"
    tea = [classes.LaterAttrs("tea", price) for price in (1, 5)]
    assert repr(("tea", tea, [classes.Own("tea")] * 2)) in lines_of(tmp_path, "kept")
    milk = [classes.LaterAttrs("milk", 2)]
    assert sorted(lines_of(tmp_path, "groups")) == [repr(("milk", milk)), repr(("tea", tea))]


def test_a_field_without_a_default_is_refused_and_the_run_can_go_on(tmp_path, monkeypatch) -> None:
    source = write(tmp_path / "lines", p=["1 tea 1"])
    registered(monkeypatch, classes.Attrs, classes.Own, classes.OwnCoder)
    run = start(Program(tmp_path, source, classes.Attrs, classes.Own), tmp_path)
    while not lines_of(tmp_path, "kept"):
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"
    append(tmp_path / "lines", "p", "3 tea 5", "end")
    registered(monkeypatch, classes.Required, classes.Own, classes.OwnCoder)

    class Paid(classes.Required):
        def __init__(self, item: str, price: int) -> None:
            super().__init__(item, price, "EUR")

    with pytest.raises(
        hr.PipelineError, match="has the field 'currency' without a default"
    ) as raised:
        finish(Program(tmp_path, source, Paid, classes.Own), tmp_path)
    assert "give the field 'currency' a default" in str(raised.value)
    registered(monkeypatch, classes.Attrs, classes.Own, classes.OwnCoder)
    assert finish(Program(tmp_path, source, classes.Attrs, classes.Own), tmp_path) == "DONE"
    tea = [classes.Attrs("tea", price) for price in (1, 5)]
    assert lines_of(tmp_path, "groups") == [repr(("tea", tea))]
