"""check_runner passes the local runner, and says of broken ones which law they break, with a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from headrace.grouping.bundle import Bundle, Element
from headrace.runners import local
from headrace.sdk.pipelines.graph import Graph, Write
from headrace.sdk.sources.sink import Sink, SinkBatch
from headrace.sdk.testing.conformance.check_runner import RUNS
from headrace.sdk.testing.laws.pane_laws import ONE_ON_TIME
from headrace.sdk.testing.laws.result_laws import NOTHING_LOST, STAMPED
from headrace.sdk.testing.laws.run_laws import AGREES
from headrace.testing.laws import Report, check_runner
from headrace.testing.strategies import Run, runs
from headrace.triggers import AccumulationMode, PaneInfoTiming
from tests.laws.event_by_event import oracle_panes
from tests.support.batching.merge_graphs import map_nodes

Change = Callable[[Element], Element | None]


@attrs.define
class Twisting(Sink):
    """Changes what another sink gets."""

    sink: Sink
    change: Change
    accepts_retractions = True

    def open(self) -> None:
        self.sink.open()

    def write(self, batch: SinkBatch) -> None:
        rows = [row for row in map(self.change, batch.bundle.rows()) if row is not None]
        self.sink.write(attrs.evolve(batch, bundle=Bundle.of(rows)))


@attrs.frozen
class Broken:
    """The local runner, but for some elements of what comes out."""

    change: Change

    def run(self, graph: Graph, options: Any) -> Any:
        def twist(node: Write) -> Write:
            panes = node.label.rpartition("/")[2].startswith("panes")
            return attrs.evolve(node, sink=Twisting(node.sink, self.change)) if panes else node

        return local.run(map_nodes(graph, Write, twist), options)


@attrs.frozen
class Failing:
    """The local runner, but that it cannot run certain graphs."""

    label: str

    def run(self, graph: Graph, options: Any) -> Any:
        if any(self.label in node.label for node in graph):
            raise NotImplementedError(f"no {self.label} today")
        return local.run(graph, options)


def without_threes(row: Element) -> Element | None:
    """Lists lose their threes."""
    key, value = row.value
    if isinstance(value, list) and 3 in value:
        return row._replace(value=(key, [v for v in value if v != 3]))
    return row


def always_on_time(row: Element) -> Element:
    return row._replace(pane=row.pane._replace(timing=PaneInfoTiming.ON_TIME))


def a_second_late(row: Element) -> Element:
    return row._replace(timestamp=row.timestamp + 1_000_000)


def verdicts(report: Report) -> dict[str, Any]:
    return {verdict.law: verdict for verdict in report.broken}


@pytest.mark.slow
def test_the_local_runner_keeps_all_laws() -> None:
    report = check_runner("local", cases=60)
    assert report.passed, report
    assert report.cases == 60
    assert all(verdict.cases for verdict in report.verdicts)
    said = str(report).splitlines()
    assert said[0] == "local: 60 cases, all laws hold"
    assert said[1].split() == ["mode", "cases", "result", "law"]
    assert "  streaming     60  holds              every pipeline runs" in said


@pytest.mark.slow
def test_the_local_runner_agrees_with_the_oracle() -> None:
    def reference(runs: Sequence[Run]) -> list[Any]:
        return [oracle_panes(run) if run.has_only_panes else None for run in runs]

    report = check_runner("local", cases=60, batch=False, reference=reference)
    assert report.passed, report
    (agrees,) = (verdict for verdict in report.verdicts if verdict.law == AGREES)
    assert 20 < agrees.cases <= 60


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_one_mode_alone(mode: str) -> None:
    report = check_runner("local", cases=20, streaming=mode == "streaming", batch=mode == "batch")
    assert {verdict.mode for verdict in report.verdicts} == {mode}
    assert report.passed


@pytest.mark.slow
def test_a_runner_that_loses_elements_is_found_out() -> None:
    report = check_runner(
        Broken(without_threes), cases=40, pack=5, until_broken=True, batch=False, shrinking=2
    )
    broken = verdicts(report)[NOTHING_LOST.sentence]
    assert "3" in broken.broken.sides["lost"].__repr__()
    assert not report.passed
    assert f"BROKEN by case {broken.after}" in str(report)
    assert broken.counterexample in str(report).replace("    import", "import").replace(
        "\n    ", "\n"
    )


@pytest.mark.slow
def test_the_counterexample_is_small_and_runs() -> None:
    report = check_runner(
        Broken(without_threes), cases=40, pack=5, until_broken=True, batch=False, reference=None
    )
    text = verdicts(report)[NOTHING_LOST.sentence].counterexample
    assert text.count("TimestampedValue(") == 1
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert [value for _, value in namespace["panes_0"].values] == [[3]]


@pytest.mark.slow
def test_a_pane_that_is_on_time_twice_is_found_out() -> None:
    report = check_runner(
        Broken(always_on_time), cases=60, reference=None, until_broken=True, shrinking=0
    )
    assert ONE_ON_TIME.sentence in verdicts(report)


@pytest.mark.slow
def test_where_one_law_sees_what_is_wrong_the_reference_sees_it_everywhere() -> None:
    wrong = Broken(a_second_late)
    broken = verdicts(check_runner(wrong, cases=20, batch=False))
    assert list(broken) == [AGREES, STAMPED.sentence]
    sides = broken[AGREES].broken.sides
    assert len(sides["only from the runner"]) == len(sides["only from the reference"]) > 0
    said_alone = verdicts(check_runner(wrong, cases=20, batch=False, reference=None))
    assert list(said_alone) == [STAMPED.sentence]


@pytest.mark.slow
def test_a_runner_that_fails_is_found_out_with_the_pipeline_it_cannot_run() -> None:
    report = check_runner(Failing("/only "), cases=40, reference=None, pack=10)
    broken = verdicts(report)
    assert list(broken) == [RUNS]
    error = broken[RUNS].broken
    assert repr(error.sides["raised"]) == "NotImplementedError('no /only  today')"
    assert isinstance(error.__cause__, NotImplementedError)
    assert "hr.Filter(" in error.given


@pytest.mark.slow
def test_many_cases_run_in_one_pipeline() -> None:
    graphs: list[int] = []

    class Counting:
        def run(self, graph: Graph, options: Any) -> Any:
            graphs.append(len(graph.nodes))
            return local.run(graph, options)

    check_runner(Counting(), cases=40, pack=40, batch=False, reference=None)
    # the cases, those that can be played without captures, and those that are played in another order
    assert len(graphs) == 3


@pytest.mark.slow
def test_it_can_stop_at_the_first_pack() -> None:
    report = check_runner(
        Broken(without_threes), cases=400, pack=20, until_broken=True, reference=None, shrinking=0
    )
    assert report.cases < 400
    assert not report.passed


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report() -> None:
    one, two = (check_runner("local", cases=15, random_seed=3) for _ in range(2))
    assert one == two
    assert one != check_runner("local", cases=15, random_seed=4)


@pytest.mark.slow
def test_a_runner_is_tried_on_what_it_knows() -> None:
    only = runs(1, modes=[AccumulationMode.DISCARDING])
    seen: list[Run] = []

    def reference(some: Sequence[Run]) -> list[None]:
        seen.extend(some)
        return [None for _ in some]

    report = check_runner("local", cases=20, reference=reference, pipelines=only)
    assert report.passed, report
    modes = {step.windowing.accumulation_mode for run in seen for step in run.steps}
    assert (len(seen), modes) == (20, {AccumulationMode.DISCARDING})
