"""The plan as text, as a Mermaid flowchart, and as HTML."""

import pickle
from collections import Counter
from html.parser import HTMLParser
from shutil import which
from textwrap import dedent

import pytest

import headrace as hr
from headrace.triggers import AccumulationMode, AfterBytes, AfterCount, AfterWatermark, Repeatedly
from headrace.windowing import FixedWindows, Sessions
from headrace.windowing.time.timestamps import MAX_MICROS

from .mermaid.flowchart import parsed, parsed_by_mermaid


def explained(pipeline):
    return hr.explain(pipeline) + "\n"


def test_a_word_count():
    p = hr.Pipeline()
    lines = p | "lines" >> hr.Create(["to be or not to be"])
    words = lines | "words" >> hr.FlatMap(str.split) | "pairs" >> hr.Map(lambda word: (word, 1))
    _ = words | "count" >> hr.CombinePerKey(sum) | "show" >> hr.Map(print)
    assert explained(p) == dedent("""\
        Level 0
          fused: Read 'lines' -> ParDo 'words' -> ParDo 'pairs'
        Level 1, after a shuffle by key
          CombinePerKey 'count'
            windows: GlobalWindows()
            trigger: DefaultTrigger()
            panes: discarding
            allowed lateness: Duration(0)
            combined before the shuffle: yes
            keeps: contents by window
            content: an accumulator
          ParDo 'show'
        """)


def test_hours_into_days_with_retractions():
    p = hr.Pipeline()
    mode = AccumulationMode.RETRACTING
    trigger = AfterWatermark(early=AfterCount(10), late=AfterCount(1))
    hours = "hours" >> hr.WindowInto(
        FixedWindows(3600), trigger=trigger, accumulation_mode=mode, allowed_lateness=7200
    )
    days = "days" >> hr.WindowInto(
        FixedWindows(86400), trigger=trigger, accumulation_mode=mode, allowed_lateness=90000
    )
    hourly = p | "read" >> hr.Create([("a", 1)]) | hours | "hourly" >> hr.CombinePerKey(sum)
    _ = hourly | days | "daily" >> hr.CombinePerKey(max)
    assert explained(p) == dedent("""\
        Level 0
          fused: Read 'read' -> AssignWindows 'hours'
        Level 1, after a shuffle by key
          CombinePerKey 'hourly'
            windows: FixedWindows(size=Duration(3600), offset=Duration(0))
            trigger: AfterWatermark(early=AfterCount(10), late=AfterCount(1))
            panes: retracting
            allowed lateness: Duration(7200)
            combined before the shuffle: yes
            keeps: contents and early panes by window; full states of keys with late elements
            content: an accumulator; the last pane, to retract it
          AssignWindows 'days'
        Level 2, after a shuffle by key
          CombinePerKey 'daily'
            windows: FixedWindows(size=Duration(86400), offset=Duration(0))
            trigger: AfterWatermark(early=AfterCount(10), late=AfterCount(1))
            panes: retracting
            allowed lateness: Duration(90000)
            combined before the shuffle: yes
            keeps: full states by key and window
            content: a multiset of values, since its input can retract, and the CombineFn has no \
subtract_input; the last pane, to retract it
        """)


def test_branches_that_meet_again():
    p = hr.Pipeline()
    read = p | "read" >> hr.Create([("a", 1)])
    sized = hr.WindowInto(
        Sessions(60),
        trigger=Repeatedly(AfterBytes(100)),
        accumulation_mode=AccumulationMode.ACCUMULATING,
        allowed_lateness=hr.Duration(10**12),
    )
    windowed = read | "sessions" >> sized
    summed = windowed | "sum" >> hr.CombinePerKey(sum)
    spread = windowed | "spread" >> hr.Reshuffle()
    other = spread | "other" >> hr.Map(lambda pair: pair) | "w" >> hr.WindowInto(summed.windowing)
    _ = (summed, other) | "both" >> hr.Flatten()
    assert explained(p) == dedent("""\
        Level 0
          fused: Read 'read' -> AssignWindows 'sessions'
        Level 1, after a shuffle by key
          CombinePerKey 'sum'
            windows: Sessions(gap_size=Duration(60))
            trigger: Repeatedly(AfterBytes(100))
            panes: accumulating
            allowed lateness: Duration(1000000000000)
            combined before the shuffle: no, the trigger sees elements
            keeps: full states by key and window
            content: an accumulator
          Reshuffle 'spread'
          fused: ParDo 'other' -> AssignWindows 'w'
          Flatten 'both'
        """)


@pytest.mark.parametrize(
    ("windowing", "kept"),
    [
        (hr.WindowInto(FixedWindows(60)), "contents by window"),
        (
            hr.WindowInto(FixedWindows(60), allowed_lateness=60),
            "contents by window; full states of keys with late elements",
        ),
        (
            hr.WindowInto(
                FixedWindows(60),
                trigger=AfterWatermark(early=AfterCount(3)),
                accumulation_mode=hr.AccumulationMode.DISCARDING,
            ),
            "contents and early panes by window; full states of keys with late elements",
        ),
        (hr.WindowInto(Sessions(60)), "sessions by key; full states of keys with late elements"),
        (
            hr.WindowInto(FixedWindows(60), late_output_tag="late"),
            "contents by window; full states of keys with late elements",
        ),
    ],
)
def test_what_a_grouping_keeps(windowing, kept):
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | windowing | hr.GroupByKey()
    lines = [line.strip() for line in explained(p).splitlines()]
    assert f"keeps: {kept}" in lines
    assert "content: a list of values" in lines


def test_lateness_without_end():
    p = hr.Pipeline()
    for_ever = hr.WindowInto(FixedWindows(60), allowed_lateness=hr.Duration(micros=MAX_MICROS))
    _ = p | hr.Create([("a", 1)]) | for_ever | hr.GroupByKey()
    assert "allowed lateness: for ever" in explained(p)


def test_an_empty_pipeline():
    assert explained(hr.Pipeline()) == "Level 0\n"


# ------------------------------------------------------------------------------------------------ Mermaid

STRANGE = '1. a "b" [c] (d) {e} <f> &amp; `g` #35; h\\i *j* __k__ style: a#b; %% | end/é → l_m'


def strange_pipeline() -> hr.Pipeline:
    """A pipeline with a label that is hard to quote, a side input, and an output for late elements."""
    p = hr.Pipeline()
    windows = hr.WindowInto(FixedWindows(60), late_output_tag='"late"')
    read = p | STRANGE >> hr.Create([("a", 1)])
    summed = read | "windows" >> windows | "sum" >> hr.CombinePerKey(sum)
    side = p | "- side" >> hr.Create([1])
    _ = summed | "use" >> hr.Map(lambda pair, ones: pair, hr.pvalue.AsList(side))
    _ = (summed, summed.late) | "+ all" >> hr.Flatten()
    return p


def test_a_flowchart_has_a_subgraph_for_each_level_and_an_edge_for_each_collection():
    chart = parsed(hr.explain(strange_pipeline(), format="mermaid"))
    labels = {key: lines[0] for key, lines in chart.nodes.items()}
    assert (STRANGE, "Read") in chart.nodes.values()
    assert ("use", "ParDoWithSideInputs") in chart.nodes.values()
    levels = {title: {labels[key] for key in keys} for title, keys in chart.subgraphs.items()}
    assert list(levels) == ["Level 0", *(f"Level {n}, after a shuffle by key" for n in (1, 2))]
    assert levels["Level 2, after a shuffle by key"] == {"use"}
    edges = [(labels[start], labels[end], text, dashed) for start, end, text, dashed in chart.edges]
    assert edges == [
        (STRANGE, "windows", "", False),
        ("windows", "sum", "", False),
        ("- side", "use/Side0/KeyWithVoid", "", False),
        ("use/Side0/KeyWithVoid", "use/Side0/GroupByKey", "", False),
        ("sum", "use", "", False),
        ("use/Side0/GroupByKey", "use", "", True),
        ("sum", "+ all", "", False),
        ("sum", "+ all", '"late"', False),
    ]


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.network
@pytest.mark.skipif(which("npm") is None, reason="needs node with npm, which installs Mermaid")
def test_mermaid_itself_parses_the_same(tmp_path):
    for p in (hr.Pipeline(), strange_pipeline()):
        text = hr.explain(p, format="mermaid")
        assert parsed_by_mermaid(text, tmp_path) == parsed(text)


def test_an_empty_pipeline_is_an_empty_flowchart():
    assert parsed(hr.explain(hr.Pipeline(), format="mermaid")).nodes == {}


# --------------------------------------------------------------------------------------------------- HTML


class Tables(HTMLParser):
    """The cells of the tables of a page, and what it would load or run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: Counter[str] = Counter()
        self.loaded: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.loaded += [name for name, _ in attributes if name in ("src", "href")]
        if tag in ("td", "th", "caption"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data.rstrip("\n")


def test_the_page_has_a_table_for_each_level_with_strategy_and_state():
    page = hr.explain(strange_pipeline(), format="html")
    tables = Tables(page)
    assert page.startswith("<!doctype html>")
    assert "prefers-color-scheme: dark" in page
    assert tables.tags["table"] == 3
    assert tables.loaded == []
    assert not {"script", "link", "img"} & set(tables.tags)
    assert f"{STRANGE} Read → windows AssignWindows" in tables.cells
    strategy, state = tables.cells[tables.cells.index("sum CombinePerKey") + 1 :][:2]
    assert "windows: FixedWindows(size=Duration(60), offset=Duration(0))" in strategy
    assert "allowed lateness: Duration(0)" in strategy
    assert "keeps: contents by window; full states of keys with late elements" in state
    assert "content: an accumulator" in state


def test_there_are_three_formats():
    with pytest.raises(hr.PipelineError, match="no format 'svg' of a plan"):
        hr.explain(hr.Pipeline(), format="svg")  # type: ignore[call-overload, arg-type]


def test_a_plan_can_be_pickled():
    plan = hr.explain(strange_pipeline())
    loaded = pickle.loads(pickle.dumps(plan))
    assert (loaded, loaded._repr_html_()) == (plan, plan._repr_html_())
