"""A checkpoint whose keys have other encodings now is refused."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="encodings are compared by Spark's chunks")

import headrace as hr
from headrace.coders import registry
from headrace.errors import PipelineError
from headrace.runners.contents.grouping_paths import Keep
from headrace.runners.plan.planning import KeyedStep, plan
from headrace.runners.spark.state.chunked_keys import KeyedChunks
from headrace.runners.spark.state.chunked_tiers import TieredChunks
from headrace.sdk.coders.keys import encode_key
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.windowing import FixedWindows
from headrace.windowing.window import interval
from tests.unit.sdk.serialization import classes
from tests.unit.sdk.serialization.registry import clean_registry

KEY = classes.Attrs("tea", 3)


def grouping() -> KeyedStep:
    with unchecked_pipeline("local") as p:
        _ = p | hr.Create([(KEY, 1)]) | hr.WindowInto(FixedWindows(1)) | "group" >> hr.GroupByKey()
        (step,) = plan(p.graph).steps.values()
    assert isinstance(step, KeyedStep)
    return step


def states_by_key() -> tuple[Any, Any]:
    chunk = {encode_key(KEY): (KEY, (0, 0, 0), b"")}
    return KeyedChunks(operator=None), chunk  # type: ignore[arg-type]  # not used


def contents_by_window() -> tuple[Any, Any]:
    step = grouping()
    chunks = TieredChunks(step, step.grouping(), Keep.WINDOWS)
    table = chunks.thaw(None)
    table.light.thaw([((interval(0, 1_000_000),), [KEY], ([[1]],))])
    return chunks, chunks.freeze(table)


@pytest.mark.parametrize("made", [states_by_key, contents_by_window])
def test_a_class_of_keys_that_gets_a_coder(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clean_registry(monkeypatch)
    chunks, chunk = made()
    assert len(chunks.thaw(chunk)) == 1
    registry.register_coder(classes.Attrs, hr.coders.RowCoder, name="shop.Sale")
    with pytest.raises(
        PipelineError, match=r"have other encodings than now, such as Attrs\("
    ) as raised:
        chunks.thaw(chunk)
    assert "register the coder and the name of Attrs" in str(raised.value)


def test_the_halves_of_a_chunk_are_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clean_registry(monkeypatch)
    chunks, chunk = contents_by_window()
    stay, move = chunks.divide(chunk, lambda encoding: True)
    assert len(chunks.thaw(stay)) == 0
    assert len(chunks.thaw(move)) == 1
    registry.register_coder(classes.Attrs, hr.coders.RowCoder, name="shop.Sale")
    with pytest.raises(PipelineError, match="have other encodings than now"):
        chunks.thaw(move)
