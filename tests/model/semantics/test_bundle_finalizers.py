"""Bundle finalizers: their functions are called once, after the outputs of the bundle have been written."""

import pytest

import headrace as hr
from headrace.testing import TestPipeline
from headrace.utils.timestamp import Duration
from tests.model.semantics.restrictions import (
    WHOLE,
    claimed,
)

FINALIZED: list[str] = []


class Finalizing(hr.DoFn):
    """Notes when its bundles are final; one note fails."""

    def start_bundle(self, finalizer=hr.DoFn.BundleFinalizerParam):
        finalizer.register(lambda: FINALIZED.append("start"))

    def process(self, element, finalizer=hr.DoFn.BundleFinalizerParam):
        finalizer.register(lambda: FINALIZED.append(element))
        yield element


class FinalizingParts(hr.DoFn):
    """The same, splittable."""

    def process(self, element, tracker=WHOLE, finalizer=hr.DoFn.BundleFinalizerParam):
        finalizer.register(lambda: FINALIZED.append(f"part of {element}"))
        yield from claimed(tracker)


class Noting(hr.io.Sink):
    """A sink that notes what it writes in the same list."""

    def write(self, batch):
        FINALIZED.extend(f"wrote {value}" for value in sorted(batch.bundle.values))


def test_finalizers_are_called_after_the_outputs_are_written(caplog):
    FINALIZED.clear()
    with TestPipeline() as p:
        numbers = p | hr.Create([2]) | hr.ParDo(Finalizing())
        _ = numbers | "parts" >> hr.ParDo(FinalizingParts()) | hr.Write(Noting())
    assert FINALIZED[:2] == ["wrote 0", "wrote 1"]
    assert sorted(map(str, FINALIZED[2:])) == ["2", "part of 2", "start"]


def test_an_error_of_a_finalizer_is_logged(caplog):
    class Wrong(hr.DoFn):
        def process(self, element, finalizer=hr.DoFn.BundleFinalizerParam):
            finalizer.register(lambda: 1 / 0)
            finalizer.register(lambda: FINALIZED.append("after"))
            yield element

    FINALIZED.clear()
    with TestPipeline() as p:
        _ = p | hr.Create([2]) | hr.ParDo(Wrong())
    assert FINALIZED == ["after"]
    assert "a function registered with a bundle finalizer failed" in caplog.text


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_finalizers_are_called_where_the_dofn_runs(runner, tmp_path):
    """On Spark when the next batch starts, which is after the first was committed."""
    noted = tmp_path / "noted"

    class Written(hr.DoFn):
        @hr.DoFn.unbounded_per_element()
        def process(self, element, tracker=WHOLE, finalizer=hr.DoFn.BundleFinalizerParam):
            for position in claimed(tracker):
                finalizer.register(lambda: noted.write_text("final"))
                yield position
                tracker.defer_remainder(Duration(0.001))
                return

    with TestPipeline(runner) as p:
        _ = p | hr.Create([4]) | hr.ParDo(Written())
    assert noted.read_text() == "final"
