"""Context managers that functions ask for: entered with a worker or a bundle, and exited with it."""

import os
import tempfile
from contextlib import contextmanager

import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from headrace.transforms.userstate import CombiningValueStateSpec
from tests.model.semantics.scenarios import END, arrive, at

LOG: list[str] = []


@contextmanager
def logged(name):
    LOG.append(f"enter {name}")
    yield name
    LOG.append(f"exit {name}")


@pytest.fixture(autouse=True)
def empty_log():
    LOG.clear()


class Shows(hr.DoFn):
    """Uses contexts of the worker and of the bundle, between other parameters."""

    def setup(self):
        LOG.append("setup")

    def start_bundle(self, bundle=hr.DoFn.BundleContextParam(logged, args=["start"])):
        LOG.append(f"start_bundle {bundle}")

    def process(
        self,
        element,
        bundle=hr.DoFn.BundleContextParam(logged, kwargs={"name": "bundle"}),
        more="none",
        worker=hr.DoFn.SetupContextParam(logged, args=("worker",)),
        time=hr.DoFn.TimestampParam,
    ):
        yield element, bundle, more, worker, float(time)

    def finish_bundle(self):
        LOG.append("finish_bundle")

    def teardown(self):
        LOG.append("teardown")


class Counts(hr.DoFn):
    """A stateful DoFn with a context."""

    COUNT = CombiningValueStateSpec("count", sum)

    def process(
        self,
        pair,
        worker=hr.DoFn.SetupContextParam(logged, args=("worker",)),
        count=hr.DoFn.StateParam(COUNT),
        bundle=hr.DoFn.BundleContextParam(logged, args=("bundle",)),
    ):
        count.add(1)
        yield pair[1], worker, bundle, count.read()


def spread(key, value, folder=hr.DoFn.SetupContextParam(tempfile.TemporaryDirectory)):
    return key, value, os.path.isdir(folder)


@pytest.mark.mode("batch")
def test_functions_and_dofns_receive_contexts(runner):
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create([hr.TimestampedValue(("a", n), n) for n in (1, 2)])
        shown = capture(pairs | hr.ParDo(Shows(), "more"), "shown")
        counted = capture(pairs | hr.ParDo(Counts()), "counted")
        in_folder = capture(pairs | hr.MapTuple(spread), "spread")
    assert sorted(shown.values) == [
        (("a", n), "bundle", "more", "worker", float(n)) for n in (1, 2)
    ]
    assert sorted(count for *_, count in counted.values) == [1, 2]
    assert {each[1:3] for each in counted.values} == {("worker", "bundle")}
    assert sorted(in_folder.values) == [("a", 1, True), ("a", 2, True)]


def test_each_bundle_of_a_stream_has_its_context(play):
    events = [arrive(at(1, "a")), arrive(at(2, "b")), END]
    stateless = play(events, hr.ParDo(Shows()))
    assert [each.value[1:4] for each in stateless.elements] == [("bundle", "none", "worker")] * 2
    stateful = play(events, hr.ParDo(Counts()))
    assert [each.value for each in stateful.elements] == [
        ("a", "worker", "bundle", 1),
        ("b", "worker", "bundle", 2),
    ]


def test_contexts_are_open_between_the_methods_of_a_dofn():
    with TestPipeline() as p:
        _ = p | hr.Create([1, 2]) | hr.ParDo(Shows())
    assert LOG == [
        "enter worker",
        "setup",
        "enter start",
        "enter bundle",
        "start_bundle start",
        "finish_bundle",
        "exit bundle",
        "exit start",
        "teardown",
        "exit worker",
    ]


def fails(element, bundle=hr.DoFn.BundleContextParam(logged, args=["bundle"])):
    raise ValueError(bundle)


def test_contexts_are_closed_after_a_failure():
    with pytest.raises(ValueError, match="bundle"):
        _ = [1] | hr.Map(fails)
    assert LOG == ["enter bundle", "exit bundle"]


@pytest.mark.parametrize("given", [tempfile.TemporaryDirectory(), 3])
def test_a_context_manager_itself_is_refused(given):
    with pytest.raises(TypeError, match="needs a function that returns a context manager"):
        hr.DoFn.BundleContextParam(given)
