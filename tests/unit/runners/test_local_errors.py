"""Errors of users' code keep their type, and gain a note that names the transform."""

from typing import Any, ClassVar

import attrs
import pytest

import headrace as hr
from headrace.io import Sink
from headrace.options import PipelineOptions
from headrace.runners.local import run
from headrace.sdk.pipelines.graph import MAIN, Collection, Node
from headrace.testing import TestPipeline, TestStream
from headrace.triggers import AccumulationMode, AfterElement, Repeatedly
from headrace.windowing import FixedWindows, NonMergingWindowFn, Sessions, WindowFn
from tests.unit.runners.sources import Lines, Topic

FIXED = FixedWindows(10)


class Broken(Exception):
    """Something of a user's own."""


def broken(*arguments, **named):
    raise Broken("by the user")


class BrokenDoFn(hr.DoFn):
    """Breaks in one of its methods."""

    def __init__(self, method):
        setattr(self, method, broken)

    def process(self, element):
        yield element


class BrokenCombineFn(hr.CombineFn):
    """A sum that breaks in one of its methods."""

    def __init__(self, method):
        setattr(self, method, broken)

    def create_accumulator(self):
        return 0

    def add_input(self, accumulator, element):
        return accumulator + element

    def merge_accumulators(self, accumulators):
        return sum(accumulators)

    def extract_output(self, accumulator):
        return accumulator


class BrokenSink(Sink):
    """Breaks in one of its methods."""

    accepts_retractions: ClassVar[bool] = True

    def __init__(self, method):
        setattr(self, method, broken)

    def write(self, batch):
        pass


class BrokenWindows(NonMergingWindowFn):
    """Breaks for every element."""

    def assign(self, context):
        raise Broken("by the user")


@attrs.frozen
class BrokenMerge(WindowFn):
    """Windows that break when they merge."""

    def assign(self, context):
        return Sessions(10).assign(context)

    def merge(self, merge_context):
        raise Broken("by the user")

    def reach(self):
        return 10


def generator(partition):
    yield ("k", 1)
    raise Broken("by the user")


class BrokenLines(Lines):
    """Breaks while it is read."""

    def read(self, partition):
        return generator(partition)


class BrokenPartitions(Lines):
    """Does not know its partitions."""

    def partitions(self):
        raise Broken("by the user")


class BrokenTopic(Topic):
    """Breaks when it is read."""

    def read(self, partition, offset, limit):
        raise Broken("by the user")


MODES = pytest.mark.parametrize("flags", [[], ["--streaming"]], ids=["batch", "streaming"])


def label_errors(*transforms, flags=()):
    """The notes on the error of a pipeline of pairs and these transforms."""
    p = TestPipeline(argv=list(flags))
    pcoll: Any = p
    if not isinstance(transforms[0], hr.Read):
        pcoll = p | "pairs" >> hr.Create([hr.TimestampedValue(("k", n), n) for n in (1, 2)])
    for transform in transforms[:-1]:
        pcoll = pcoll | transform
    _ = pcoll | "broken" >> transforms[-1]
    with pytest.raises(Broken, match="by the user") as error:
        p.run()
    return error.value.__notes__


@MODES
@pytest.mark.parametrize(
    "transform", [hr.Map(broken), hr.FlatMap(broken), hr.Filter(broken), hr.WithTimestamps(broken)]
)
def test_functions(transform, flags):
    notes = label_errors(transform, flags=flags)
    assert notes == ["on the element ('k', 1)", "in broken"]


@MODES
@pytest.mark.parametrize(
    "method", ["setup", "start_bundle", "process", "finish_bundle", "teardown"]
)
def test_dofns(method, flags):
    assert label_errors(hr.ParDo(BrokenDoFn(method)), flags=flags)[-1] == "in broken"


@MODES
@pytest.mark.parametrize(
    ("method", "notes"),
    [
        ("setup", []),
        ("create_accumulator", ["for the key 'k'"]),
        ("add_input", ["on the element ('k', 1)"]),
        ("extract_output", ["for the key 'k'"]),
        ("teardown", []),
    ],
)
def test_combine_fns(method, notes, flags):
    combine = hr.CombinePerKey(BrokenCombineFn(method))
    assert label_errors(hr.WindowInto(FIXED), combine, flags=flags) == [*notes, "in broken"]


def test_combine_fns_that_merge_accumulators():
    """That happens when elements of a window come in two bundles."""
    combine = hr.CombinePerKey(BrokenCombineFn("merge_accumulators"))
    flags = ["--streaming", "--max-records-per-batch=1"]
    assert label_errors(hr.WindowInto(FIXED), combine, flags=flags) == [
        "for the key 'k'",
        "in broken",
    ]


@MODES
@pytest.mark.parametrize("source", [BrokenLines({"p": []}), BrokenPartitions({})])
def test_bounded_sources(source, flags):
    assert label_errors(hr.Read(source), flags=flags) == ["in broken"]


def test_unbounded_sources():
    assert label_errors(hr.Read(BrokenTopic({"p": []}))) == ["in broken"]


@MODES
@pytest.mark.parametrize("method", ["open", "write", "close"])
def test_sinks(method, flags):
    assert label_errors(hr.Write(BrokenSink(method)), flags=flags) == ["in broken"]


@hr.ptransform_fn
def Windowed(pcoll, windows, *behind):
    """Windows, and transforms behind them."""
    pcoll = pcoll | "windows" >> hr.WindowInto(windows)
    for transform in behind:
        pcoll = pcoll | transform
    return pcoll


@MODES
@pytest.mark.parametrize("windows", [BrokenWindows(), Sessions(broken, max_gap=9)])
@pytest.mark.parametrize("behind", [hr.Map(str), hr.GroupByKey(), hr.CombinePerKey(sum)])
def test_window_functions(windows, behind, flags):
    assert label_errors(Windowed(windows, behind), flags=flags) == ["in broken/windows"]


@MODES
def test_window_functions_that_merge(flags):
    notes = label_errors(hr.WindowInto(BrokenMerge()), hr.GroupByKey(), flags=flags)
    assert notes == ["for the key 'k'", "in broken"]


@MODES
def test_predicates_of_triggers(flags):
    windows = hr.WindowInto(
        FIXED,
        trigger=Repeatedly(AfterElement(broken)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    assert label_errors(windows, hr.GroupByKey(), flags=flags) == ["in broken"]


def test_only_the_transform_that_broke_is_named():
    """Not the source or grouping from which the element came."""
    p = TestPipeline(argv=[])
    grouped = p | hr.Create([("k", 1)]) | "group" >> hr.GroupByKey()
    _ = grouped | "broken" >> hr.Map(broken)
    with pytest.raises(Broken) as error:
        p.run()
    assert [note for note in error.value.__notes__ if note.startswith("in ")] == ["in broken"]


def test_a_run_that_failed_has_failed():
    p = hr.Pipeline(options=PipelineOptions([]))
    sink = BrokenSink("close")
    _ = p | hr.Create([1]) | "fail" >> hr.Map(broken) | hr.Write(sink)
    with pytest.raises(Broken) as error:
        p.run()
    assert error.value.__notes__[-1] == "in fail"


class Careful(hr.DoFn):
    """Notes when it is set up and torn down."""

    def __init__(self, name, notes):
        self.name = name
        self.notes = notes

    def setup(self):
        self.notes.append(f"{self.name} up")

    def process(self, element):
        yield element

    def teardown(self):
        self.notes.append(f"{self.name} down")


@pytest.mark.parametrize(
    ("breaks", "notes"),
    [
        (hr.Map(broken), ["a up", "c up", "c down", "a down"]),
        (hr.ParDo(BrokenDoFn("teardown")), ["a up", "c up", "c down", "a down"]),
        (hr.ParDo(BrokenDoFn("setup")), ["a up", "a down"]),
    ],
    ids=["process", "teardown", "setup"],
)
def test_what_was_set_up_is_torn_down_whatever_breaks(breaks, notes):
    p = hr.Pipeline(options=PipelineOptions([]))
    noted: list[str] = []
    first = p | hr.Create([1]) | "a" >> hr.ParDo(Careful("a", noted))
    _ = first | "b" >> breaks | "c" >> hr.ParDo(Careful("c", noted))
    with pytest.raises(Broken) as error:
        p.run()
    assert error.value.__notes__[-1] == "in b"
    assert noted == notes


def test_an_error_in_cleaning_up_does_not_hide_the_first():
    p = hr.Pipeline(options=PipelineOptions([]))
    _ = p | hr.Create([1]) | "one" >> hr.Map(broken) | "two" >> hr.ParDo(BrokenDoFn("teardown"))
    with pytest.raises(Broken) as error:
        p.run()
    assert "in one" in [*error.value.__notes__, *getattr(error.value.__context__, "__notes__", ())]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_no_records_is_refused(limit):
    options = PipelineOptions(["--streaming", f"--max_records_per_batch={limit}"])
    p = hr.Pipeline(options=options)
    _ = p | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="must be at least 1, not"):
        p.run()


@MODES
def test_what_is_no_pair_is_found_when_it_comes(flags):
    p = TestPipeline(argv=flags)
    _ = p | hr.Create([1]) | hr.Map(lambda x: [x]) | "group" >> hr.GroupByKey()  # type: ignore[operator]
    with pytest.raises(hr.ElementError) as error:
        p.run()
    assert error.value.problem == "the element [1] is not a (key, value) pair"
    assert error.value.where == "group"
    assert "WithKeys" in error.value.remedy


@attrs.frozen
class Teleport(Node):
    """A node that no runner supports."""


class Teleported(hr.PTransform):
    """Adds a node of an unknown kind."""

    def expand(self, pcoll):
        pipeline = pcoll.pipeline
        output = attrs.evolve(pcoll.collection, node=pipeline.scope, tag=MAIN)
        pipeline.add(Teleport(pipeline.scope, (pcoll.collection,), (output,)))
        return hr.PCollection(pipeline, output)


@pytest.mark.parametrize(
    "source", [hr.Read(BrokenLines({"p": []})), hr.Read(BrokenTopic({"p": []})), TestStream()]
)
def test_an_unknown_kind_of_node_is_refused_before_any_data_flows(source):
    p = hr.Pipeline(options=PipelineOptions([]))
    _ = p | source | hr.Write(BrokenSink("open"))
    _ = p | hr.Create([1]) | "beam me up" >> Teleported()
    assert isinstance(p.graph.nodes[-1].outputs[0], Collection)
    with pytest.raises(
        hr.UnsupportedError, match="no runner supports the node kind Teleport"
    ) as refusal:
        run(p.graph, p.options)
    assert refusal.value.where == "beam me up"
