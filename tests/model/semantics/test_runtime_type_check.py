"""``--runtime_type_check``: elements are compared with the declared types while the pipeline runs."""

from collections.abc import Iterable
from typing import Literal

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture

CHECKS = ["--runtime_type_check"]


def parsed(word: str) -> tuple[str, int]:
    return word, word if word == "bad" else 1  # type: ignore[return-value]


def split(number: int) -> Iterable[int | hr.TaggedOutput[Literal["odd"], str]]:
    yield number
    yield hr.TaggedOutput("odd", number)


def untyped(element):
    return element


def doubled(number: int) -> int:
    return 2 * number


def run(runner, *steps, values=("good", "bad"), stream=False):
    """Run steps on values, and return what comes out."""
    source = TestStream(stays_open=True).add_elements(list(values)).advance_watermark_to_infinity()
    with TestPipeline(runner=runner, argv=CHECKS) as p:
        found = p | (source if stream else hr.Create(list(values)))
        for step in steps:
            found = found | step
        captured = capture(found)
    return captured.values


@pytest.mark.alone
@pytest.mark.mode("batch")
def test_an_output_of_another_type_stops_the_pipeline(runner):
    with pytest.raises(hr.TypeCheckError) as error:
        run(runner, "Parse" >> hr.Map(parsed))
    assert error.value.where == "Parse"
    assert "('bad', 'bad') is not of the type tuple[str, int] that the step emits" in str(
        error.value
    )
    assert "item 1 is 'bad', not int" in str(error.value)


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_an_input_of_another_type_stops_a_stream(runner):
    with pytest.raises(
        hr.TypeCheckError, match="7 is not of the type str that the step takes"
    ) as error:
        run(runner, "Plain" >> hr.Map(untyped), "Parse" >> hr.Map(parsed), values=[7], stream=True)
    assert error.value.where == "Parse"


@pytest.mark.mode("batch")
def test_elements_of_the_declared_types_pass(runner):
    values = run(runner, hr.Map(untyped), hr.Map(doubled), values=[1, 2])
    assert sorted(values) == [2, 4]


def test_other_outputs_are_checked() -> None:
    p = TestPipeline(argv=CHECKS)
    outputs = p | hr.Create([1]) | "Split" >> hr.ParDo(split).with_outputs("odd", main="all")
    capture(outputs.odd)
    capture(outputs.odd, "again")
    with pytest.raises(hr.TypeCheckError, match="1 is not of the type str") as error:
        p.run()
    assert error.value.where == "Split"


def test_composites_are_checked() -> None:
    class Both(hr.PTransform):
        def expand(self, pcolls):
            return pcolls | hr.Flatten()

    p = TestPipeline(argv=CHECKS)
    words = p | "words" >> hr.Create(["a"])
    numbers = p | "numbers" >> hr.Create(["x"]) | hr.Map(untyped)
    capture((words, numbers) | Both().with_input_types(str, int))
    with pytest.raises(hr.TypeCheckError, match="'x' is not of the type int that the step takes"):
        p.run()


def test_without_the_option_nothing_is_checked() -> None:
    assert sorted(["bad"] | hr.Map(parsed)) == [("bad", "bad")]
