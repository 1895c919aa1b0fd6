"""Pipelines, plans and collections show themselves in a notebook, without a run."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

import headrace as hr
from headrace.triggers import AccumulationMode
from headrace.windowing import FixedWindows


def shown(thing: object) -> dict[str, Any]:
    """What a notebook gets to display a thing, by MIME type; an error in it fails the test."""
    bundle, _ = DisplayFormatter().format(thing)
    assert isinstance(bundle, dict)
    return bundle


def never(element: object) -> object:
    raise AssertionError("a step ran")


def counted(p: hr.Pipeline) -> hr.PCollection[tuple[str, int]]:
    windows = hr.WindowInto(
        FixedWindows(60),
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=90,
        late_output_tag="<late>",
    )
    read = p | "Read <&>" >> hr.Create([("a", 1)]) | "Never" >> hr.Filter(never)
    return read | "Minutes" >> windows | "Count" >> hr.CombinePerKey(sum)


def test_a_pipeline_shows_its_plan() -> None:
    p = hr.Pipeline()
    counted(p)
    page = shown(p)["text/html"]
    assert "Pipeline with 4 steps, not run" in page
    assert "<b>Read &lt;&amp;&gt;</b>" in page
    assert "allowed lateness:</small> Duration(90)" in page


def test_a_pipeline_that_has_run_shows_its_state() -> None:
    with hr.Pipeline() as p:
        _ = p | hr.Create([1])
    assert "Pipeline with 1 step, DONE" in shown(p)["text/html"]


def test_a_collection_shows_what_is_known_of_it() -> None:
    count = counted(hr.Pipeline())
    page = shown(count)["text/html"]
    for fact in (
        "<caption>PCollection Count</caption>",
        "<th>bounded</th><td>yes</td>",
        "<th>windows</th><td>FixedWindows(size=Duration(60), offset=Duration(0))</td>",
        "<th>panes</th><td>retracting</td>",
        "<th>allowed lateness</th><td>Duration(90)</td>",
        "<th>retractions</th><td>possible</td>",
    ):
        assert fact in page
    assert "<th>output</th>" not in page
    assert "<th>output</th><td>&lt;late&gt;</td>" in shown(count.late)["text/html"]


def test_a_collection_shows_the_type_of_its_elements() -> None:
    p = hr.Pipeline()
    words = p | hr.Create(["a"]) | hr.Map(len).with_output_types(int)
    assert "<th>element type</th><td>int</td>" in words._repr_html_()


def test_a_plan_shows_tables_or_a_diagram() -> None:
    p = hr.Pipeline()
    counted(p)
    plan = hr.explain(p)
    assert shown(plan)["text/plain"] == str(plan)
    assert shown(plan)["text/html"].count("<table>") == 2
    assert "<table>" in shown(hr.explain(p, format="html"))["text/html"]
    diagram = hr.explain(p, format="mermaid")
    assert shown(diagram) == {"text/plain": str(diagram), "text/vnd.mermaid": str(diagram)}


def test_half_built_pipelines_show_themselves() -> None:
    empty = hr.Pipeline()
    assert "Pipeline with 0 steps" in shown(empty)["text/html"]
    p = hr.Pipeline()
    seen: list[str] = []

    class Broken(hr.PTransform[Any, Any]):
        def expand(self, pcoll: Any) -> Any:
            self.inner = pcoll | hr.Map(str)
            seen.append(shown(p)["text/html"])
            raise ValueError("half way")

    broken = Broken()
    with pytest.raises(ValueError, match="half way"):
        _ = p | hr.Create([1]) | broken
    assert "Broken/Map(str)" in seen[0]
    assert "Pipeline with 1 step," in shown(p)["text/html"]
    assert "Broken/Map(str)" in shown(broken.inner)["text/html"]


def test_showing_outputs_by_tag_adds_no_output() -> None:
    p = hr.Pipeline()
    outputs = p | hr.Create([1]) | hr.Map(never).with_outputs()
    before = p.graph
    assert shown(outputs) == {"text/plain": repr(outputs)}
    assert p.graph == before
