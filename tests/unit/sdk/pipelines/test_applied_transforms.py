"""The tree of applied transforms, and visitors of it."""

import gc
import weakref

import pytest

import headrace as hr
from headrace.pipeline import PipelineVisitor
from headrace.testing import TestPipeline


class Notes(PipelineVisitor):
    def __init__(self):
        self.notes = []
        self.values = []

    def visit_value(self, value, producer_node):
        self.values.append((value, producer_node.full_label))

    def visit_transform(self, transform_node):
        self.notes.append(transform_node.full_label)

    def enter_composite_transform(self, transform_node):
        self.notes.append(f"<{transform_node.full_label}")

    def leave_composite_transform(self, transform_node):
        self.notes.append(f"{transform_node.full_label}>")


class Doubled(hr.PTransform):
    def expand(self, pcoll):
        return pcoll | "Twice" >> hr.Map(lambda x: 2 * x)


class Same(hr.PTransform):
    def expand(self, pcoll):
        return pcoll


def test_composites_enclose_their_parts() -> None:
    p = TestPipeline()
    numbers = p | hr.Impulse()
    doubled = numbers | Doubled()
    same = doubled | Same()
    notes = Notes()
    p.visit(notes)
    assert notes.notes == [
        "<",
        "Impulse",
        "<Doubled",
        "Doubled/Twice",
        "Doubled>",
        "<Same",
        "Same>",
        ">",
    ]
    assert notes.values == [(numbers, "Impulse"), (doubled, "Doubled/Twice")]
    assert same is doubled


def test_an_application_has_its_transform_and_its_collections() -> None:
    p = TestPipeline()
    transform = hr.Map(lambda x: hr.TaggedOutput("odd", x)).with_outputs("odd", main="even")
    numbers = p | hr.Create([1])
    numbers | "Split" >> transform
    split = p.applied.parts[-1]
    assert split.transform is transform
    assert split.parent is p.applied
    assert (split.parent.parent, p.applied.transform) == (None, None)
    assert split.inputs == (numbers,)
    assert {tag: str(out) for tag, out in split.outputs.items()} == {
        None: "PCollection[Split]",
        "odd": "PCollection[Split.odd]",
    }
    assert repr(split).startswith("AppliedPTransform(Split, ")


def test_several_inputs_and_outputs() -> None:
    class Both(hr.PTransform):
        def expand(self, pcolls):
            return {name: pcoll | name >> hr.Map(str) for name, pcoll in pcolls.items()}

    p = TestPipeline()
    inputs = {name: p | f"In {name}" >> hr.Create([1]) for name in "ab"}
    inputs | Both()
    both = p.applied.parts[-1]
    assert both.inputs == tuple(inputs.values())
    assert set(both.outputs) == {"Both/a", "Both/b"}
    assert [part.full_label for part in both.parts] == ["Both/a", "Both/b"]


def test_a_transform_that_fails_is_not_there() -> None:
    class Failing(hr.PTransform):
        def expand(self, pcoll):
            pcoll | hr.Map(str)
            raise LookupError

    p = TestPipeline()
    numbers = p | hr.Create([1])
    with pytest.raises(LookupError):
        numbers | Failing()
    assert [part.full_label for part in p.applied.parts] == ["Create"]


def test_the_tree_does_not_keep_a_pipeline_alive() -> None:
    p = TestPipeline()
    transform = hr.Map(str)
    gone = weakref.ref(p), weakref.ref(transform)
    p | hr.Create([1]) | transform
    gc.disable()
    try:
        p.run()
        del p, transform
        assert [each() for each in gone] == [None, None]
    finally:
        gc.enable()
