"""Coders of classes on all runners: they write values, and what is wrong is an error with the label."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.coders import RowCoder, VarIntCoder, registry
from headrace.errors import ElementError, PipelineError
from headrace.options import PipelineOptions
from headrace.testing import TestPipeline, capture
from headrace.transforms.userstate import BagStateSpec, MapStateSpec, ReadModifyWriteStateSpec
from tests.unit.sdk.serialization import classes
from tests.unit.sdk.serialization.registry import clean_registry


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the registrations of a test."""
    clean_registry(monkeypatch)


class Coded(hr.DoFn):
    """Keeps values with coders."""

    BAG = BagStateSpec("bag", VarIntCoder())
    MAP = MapStateSpec("map", classes.OwnCoder())
    LAST = ReadModifyWriteStateSpec("last", classes.OwnCoder())

    def process(
        self,
        element,
        bag=hr.DoFn.StateParam(BAG),
        by_size=hr.DoFn.StateParam(MAP),
        last=hr.DoFn.StateParam(LAST),
    ):
        key, own = element
        bag.add(len(own.text))
        by_size.put(len(own.text), own)
        last.write(own)
        yield key, sorted(bag.read()), sorted(k for k, _ in by_size.items()), last.read()


WORDS = [("a", classes.Own("Tea")), ("b", classes.Own("Milk")), ("a", classes.Own("Coffee"))]


@pytest.mark.mode("any")
@pytest.mark.alone
def test_values_and_keys_of_a_class_with_a_coder(runner) -> None:
    registry.register_coder(classes.Own, classes.OwnCoder, name="own")
    with TestPipeline(runner=runner, options=PipelineOptions(["--no_pickle"])) as p:
        words = p | hr.Create(WORDS)
        groups = words | hr.GroupByKey() | hr.MapTuple(lambda k, v: (k, sorted(map(str, v))))
        sizes = words | hr.MapTuple(lambda k, v: (v, 1)) | hr.CombinePerKey(sum)
        kept = words | hr.ParDo(Coded()) | hr.Map(lambda each: (each[0], *map(len, each[1:3])))
        found = [capture(c, f"c{n}") for n, c in enumerate((groups, sizes, kept))]
    texts = [sorted(found[0].values), sorted(found[1].values, key=str), sorted(found[2].values)]
    assert texts == [
        [("a", ["Own('Coffee')", "Own('Tea')"]), ("b", ["Own('Milk')"])],
        [(classes.Own(word), 1) for word in ("Coffee", "Milk", "Tea")],
        [("a", 1, 1), ("a", 2, 2), ("b", 1, 1)],
    ]


def run(runner: Any, words: list[Any], *transforms: Any, flags: tuple[str, ...] = ()) -> None:
    with TestPipeline(runner=runner, options=PipelineOptions(flags)) as p:
        collection = p | hr.Create(words)
        for transform in transforms:
            collection = collection | transform


@pytest.mark.mode("any")
@pytest.mark.alone
@pytest.mark.parametrize(
    ("coder", "problem"),
    [
        (
            classes.Forgetful,
            r"does not return what it encodes: it makes Own\('tea'\) of Own\('Tea'\)",
        ),
        (classes.Failing, r"fails on Own\('Tea'\): ValueError: no ink"),
    ],
    ids=["forgetful", "failing"],
)
def test_a_coder_that_is_wrong(runner, coder, problem) -> None:
    registry.register_coder(classes.Own, coder)
    with pytest.raises(ElementError, match=problem) as raised:
        run(runner, WORDS, "all words" >> hr.GroupByKey())
    assert "in all words" in raised.value.__notes__


@pytest.mark.mode("any")
@pytest.mark.alone
def test_what_would_be_pickled_while_it_runs(runner) -> None:
    def hidden(pair: Any) -> Any:
        return pair

    with pytest.raises(ElementError, match=r"Own\('\w+'\) would be pickled") as raised:
        run(runner, WORDS, hr.Map(hidden), "all words" >> hr.GroupByKey(), flags=("--no_pickle",))
    assert "register a coder for the class" in str(raised.value)
    assert "in all words" in raised.value.__notes__


@pytest.mark.mode("any")
@pytest.mark.alone
@pytest.mark.parametrize(
    "declared",
    [tuple[str, classes.Own], tuple[str, list[classes.Own]], tuple[str, classes.Own | None]],
    ids=str,
)
def test_declared_types_are_refused_before_any_data(runner, declared) -> None:
    step = hr.Map(lambda pair: pair).with_output_types(declared)
    with pytest.raises(PipelineError, match="nothing says how to write values of Own") as raised:
        run(runner, [], step, "all words" >> hr.GroupByKey(), flags=("--no_pickle",))
    assert "where: all words" in str(raised.value)


@pytest.mark.parametrize(
    "declared",
    [
        tuple[str, int],
        tuple[str, Any],
        tuple[str, classes.Attrs],
        tuple[classes.Pair, list[classes.Plain]],
        tuple[str, dict[str, float | None]],
    ],
    ids=str,
)
def test_declared_types_that_can_be_written(declared) -> None:
    step = hr.Map(lambda pair: pair).with_output_types(declared)
    run("local", [], step, hr.GroupByKey(), flags=("--no_pickle",))


def test_a_registered_class_may_be_declared() -> None:
    registry.register_coder(classes.Own, classes.OwnCoder)
    step = hr.Map(lambda pair: pair).with_output_types(tuple[str, classes.Own])
    run("local", WORDS, step, hr.GroupByKey(), flags=("--no_pickle",))


def test_row_coder_names_a_class() -> None:
    registry.register_coder(classes.Attrs, RowCoder, name="shop.Sale")
    assert isinstance(registry.get_coder(classes.Attrs), RowCoder)
