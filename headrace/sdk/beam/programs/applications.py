"""The table from what Beam applies to how it is translated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import apache_beam as beam
import attrs
from apache_beam.coders.coders import IntervalWindowCoder
from apache_beam.io.iobase import BoundedSource, Read
from apache_beam.runners.common import DoFnSignature
from apache_beam.runners.worker.operations import InefficientExecutionWarning
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.core import _CombinePerKeyWithHotKeyFanout
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.transforms.userstate import is_stateful_dofn

from headrace.errors import PipelineError, UnsupportedError
from headrace.sdk.beam.programs.combine import own_combine_fn
from headrace.sdk.beam.programs.dofns import BeamDoFn
from headrace.sdk.beam.programs.keys import DecodeKeys, EncodeKeys, KeyCoding, coding_of
from headrace.sdk.beam.programs.nodes import Graphs, Pcoll
from headrace.sdk.beam.programs.retractions import BeamToChangelog
from headrace.sdk.beam.programs.rows import tag_of
from headrace.sdk.beam.programs.sources.known import Known
from headrace.sdk.beam.programs.sources.plain_sources import (
    CreatedValues,
    bounded_source,
    own_impulse,
    own_stream,
)
from headrace.sdk.beam.programs.splittable import splittable_dofn
from headrace.sdk.beam.programs.stateful import BeamStatefulDoFn
from headrace.sdk.beam.programs.step import BeamStep, own_side_input, view_of
from headrace.sdk.beam.programs.windows import WindowTranslation
from headrace.sdk.pipelines.elementwise import BundleEach, ProcessEach
from headrace.sdk.sources.reading import ValuesSource


@attrs.frozen(eq=False)
class Application:
    """An application of a transform of Beam.

    Attributes:
        node: Beam's object of it.
        graphs: makes nodes.
        drains: whether restrictions are cut to what must be done.
        streaming: whether the run is in streaming mode.
    """

    node: Any
    graphs: Graphs
    drains: bool = False
    streaming: bool = False

    @property
    def label(self) -> str:
        """Its full label."""
        return str(self.node.full_label)

    @property
    def transform(self) -> Any:
        """Its transform."""
        return self.node.transform

    @property
    def input(self) -> Pcoll:
        """Its main input, as ours."""
        return self.graphs.of(self.node.inputs[0])

    def make(self, build: Callable[[], Pcoll]) -> None:
        """Let the nodes that a function adds be what the application makes."""
        made = self.graphs.within(self.label, build)
        for theirs in self.node.outputs.values():
            self.graphs.set(theirs, made)


Translator: TypeAlias = Callable[[Application], None]


def _impulse(app: Application) -> None:
    app.make(lambda: app.graphs.read(ValuesSource((b"",)), bounded=True))


def _create(app: Application) -> None:
    source = CreatedValues.of(app.transform)
    app.make(lambda: app.graphs.read(source, bounded=True))


def _read(app: Application) -> None:
    source = bounded_source(app.transform.source)
    app.make(lambda: app.graphs.within(_READER, lambda: app.graphs.read(source, bounded=True)))


_READER: Final = "SDFBoundedSourceReader"
"""The label of the step within a Read of Beam, which has the metrics of the source."""


def _periodic_impulse(app: Application) -> None:
    impulse = own_impulse(app.transform)
    made = app.graphs.pipeline.apply(impulse, label=app.label)
    for theirs in app.node.outputs.values():
        app.graphs.set(theirs, made)


def _known(app: Application) -> None:
    """Apply a transform of ours that stands for one of another language."""
    build = _written if app.transform.kind is None else _read_by_ours
    app.make(lambda: build(app))


def _written(app: Application) -> Any:
    if app.input.collection.changing:
        raise PipelineError(
            "the collection can contain retractions, which would have to be written as messages",
            where=app.label,
            remedy="apply headrace.beam.ToChangelog() first",
        )
    return app.input | app.transform.own


def _read_by_ours(app: Application) -> Pcoll:
    made: Pcoll = app.graphs.pipeline.apply(app.transform.own)
    if not app.transform.redistributes:
        return made
    pcoll: Pcoll = app.graphs.within("Redistribute", lambda: app.graphs.reshuffle(made))
    return pcoll


def _flatten(app: Application) -> None:
    inputs = [app.graphs.of(theirs) for theirs in app.node.inputs]
    if inputs:
        app.make(lambda: app.graphs.flatten(inputs))
    else:
        app.make(lambda: app.graphs.read(ValuesSource(()), bounded=True))


def _window_into(app: Application) -> None:
    (theirs,) = app.node.outputs.values()
    app.make(lambda: app.graphs.assign(app.input, theirs))


def _to_changelog(app: Application) -> None:
    app.make(lambda: app.graphs.changes(app.input))


def _reshuffle(app: Application) -> None:
    app.make(lambda: app.graphs.reshuffle(app.input))


def _group(app: Application) -> None:
    app.make(lambda: _with_coded_keys(app, app.graphs.group))


def _combine(app: Application) -> None:
    transform = app.transform
    fn = own_combine_fn(transform.fn, tuple(transform.args), transform.kwargs)
    app.make(lambda: _with_coded_keys(app, lambda pcoll: app.graphs.combine(pcoll, fn)))


def _combine_hot_keys(app: Application) -> None:
    fn = own_combine_fn(app.transform._combine_fn)
    app.make(lambda: _with_coded_keys(app, lambda pcoll: app.graphs.combine(pcoll, fn)))


def _with_coded_keys(app: Application, group: Callable[[Pcoll], Pcoll]) -> Pcoll:
    """Add a grouping; if plain keys are not certain, keys are encoded before and decoded after it."""
    coding = _coding(app)
    if coding is None:
        return group(app.input)
    coded = _coded_in_windows(app, coding)
    made: Pcoll = app.graphs.within("Group", lambda: group(coded))
    decode = BundleEach(DecodeKeys(coding))
    decoded: Pcoll = app.graphs.within("DecodeKeys", lambda: app.graphs.pardo(made, decode))
    return decoded


def _coding(app: Application) -> KeyCoding | None:
    return coding_of(app.node.inputs[0].element_type, app.label)


def _coded(app: Application, coding: KeyCoding) -> Pcoll:
    """Return the input with its keys as they travel."""
    return _encoded(app, coding, app.input)


def _encoded(app: Application, coding: KeyCoding, pcoll: Pcoll) -> Pcoll:
    encode = BundleEach(EncodeKeys(coding))
    coded: Pcoll = app.graphs.within("EncodeKeys", lambda: app.graphs.pardo(pcoll, encode))
    return coded


def _coded_in_windows(app: Application, coding: KeyCoding) -> Pcoll:
    """Return the input of a grouping with its keys as they travel.

    They are encoded before windows are assigned if that makes no difference. Then the grouping reads from the
    node that assigns windows, and can do its work.
    """
    before = app.graphs.before_windows(app.input)
    if before is None:
        return _coded(app, coding)
    coded = _encoded(app, coding, before)
    made: Pcoll = app.graphs.within("Windows", lambda: app.graphs.assign_like(coded, app.input))
    return made


def _test_stream(app: Application) -> None:
    if app.transform._endpoint:
        raise UnsupportedError(
            "the events of the TestStream come from a service",
            where=app.label,
            remedy="give it the events",
        )
    windows = WindowTranslation(IntervalWindowCoder())
    several = len(app.node.outputs) > 1
    for tag, theirs in app.node.outputs.items():
        script = own_stream(app.transform, theirs.tag if several else tag, windows)
        script.clock_owner = app.label if several else None
        label = f"{app.label}/{tag}" if several else app.label
        read = partial(app.graphs.read, script, bounded=script.bounded)
        app.graphs.set(theirs, app.graphs.within(label, read))


def _pardo(app: Application) -> None:
    if is_stateful_dofn(app.transform.fn):
        _stateful(app)
        return
    splits = DoFnSignature(app.transform.fn).is_splittable_dofn()
    _check_retractions(app, splits)
    if splits and app.streaming and not app.drains:
        _splittable(app)
        return
    _check_batches(app)
    step = _step(app)
    sides = _sides(app, step)
    kind = BundleEach(BeamDoFn(step, app.drains), sides)
    _set_outputs(app, lambda tags: app.graphs.pardo(app.input, kind, tags))


def _check_retractions(app: Application, splits: bool) -> None:
    """Refuse a DoFn whose outputs for a retraction could not be taken back."""
    fn = app.transform.fn
    finishes = type(fn).finish_bundle is not beam.DoFn.finish_bundle
    if app.input.collection.changing and (splits or finishes):
        why = "is splittable" if splits else "emits elements in finish_bundle"
        raise PipelineError(
            f"the collection can contain retractions, but {fn.default_label()} {why}, so what it emits for "
            "a retraction could not be taken back",
            where=app.label,
            remedy="apply headrace.beam.ToChangelog() first",
        )


def _splittable(app: Application) -> None:
    """Add a splittable DoFn whose restrictions are not run to their end at once."""
    step = _step(app)
    unbounded = DoFnSignature(app.transform.fn).is_unbounded_per_element()
    kind = ProcessEach(splittable_dofn(step), _sides(app, step))
    _set_outputs(app, lambda tags: app.graphs.splittable(app.input, kind, unbounded, tags))


def _stateful(app: Application) -> None:
    coding, step = _coding(app), _step(app)
    dofn = BeamStatefulDoFn(step, coding)
    kind = ProcessEach(dofn, _sides(app, step))
    if coding is None:
        _set_outputs(app, lambda tags: app.graphs.stateful(app.input, kind, dofn.declared(), tags))
        return
    coded = app.graphs.within(f"{app.label}/Keys", lambda: _coded(app, coding))
    _set_outputs(app, lambda tags: app.graphs.stateful(coded, kind, dofn.declared(), tags))


def _set_outputs(app: Application, build: Callable[[tuple[str, ...]], Pcoll]) -> None:
    """Add a node with several outputs, each of which is a collection of Beam."""
    outputs = app.node.outputs
    tags = tuple(tag_of(tag) for tag in outputs if tag is not None)
    made = app.graphs.within(app.label, lambda: build(tags))
    pipeline = app.graphs.pipeline
    for tag, theirs in outputs.items():
        own = made if tag is None else pipeline.output(made.collection.node, tag_of(tag))
        app.graphs.set(theirs, own)


def _step(app: Application) -> BeamStep:
    transform, (source, *_) = app.transform, app.node.inputs
    return BeamStep(
        app.label,
        transform.fn,
        tuple(transform.args),
        transform.kwargs,
        source.windowing.windowfn,
        tuple(map(view_of, app.node.side_inputs)),
    )


def _sides(app: Application, step: BeamStep) -> tuple[Any, ...]:
    """Return the side inputs, as ours."""
    pairs = zip(app.node.side_inputs, step.views, strict=True)
    return tuple(own_side_input(app.graphs.of(side.pvalue), view) for side, view in pairs)


def _check_batches(app: Application) -> None:
    """Warn, as Beam does, if batches are made again in another form."""
    takes = getattr(app.transform.fn, "input_batch_converter", None)
    producer = getattr(app.node.inputs[0].producer, "transform", None)
    gives = getattr(getattr(producer, "fn", None), "output_batch_converter", None)
    if takes is None or gives is None or takes == gives:
        return
    warnings.warn(
        f"the input of {app.label} ({app.transform.fn.default_label()}) is in batches of type "
        f"{gives.batch_type!r}, and is made again as {takes.batch_type!r}; let both have the same type",
        InefficientExecutionWarning,
        stacklevel=2,
    )


_WHOLE: Final[dict[type, Translator]] = {
    beam.Impulse: _impulse,
    beam.Create: _create,
    beam.CombinePerKey: _combine,
    _CombinePerKeyWithHotKeyFanout: _combine_hot_keys,
    beam.Reshuffle: _reshuffle,
    beam.WindowInto: _window_into,
    beam.GroupByKey: _group,
    beam.Flatten: _flatten,
    TestStream: _test_stream,
    BeamToChangelog: _to_changelog,
    Known: _known,
    PeriodicImpulse: _periodic_impulse,
}


def translator_of(transform: Any, leaf: bool) -> Translator | None:
    """Return how a transform is translated; None if its parts are, or if it cannot be.

    Args:
        transform: the transform.
        leaf: whether it has no parts.
    """
    found = _WHOLE.get(type(transform))
    if found is not None:
        return found
    if isinstance(transform, Read):
        return _read if isinstance(transform.source, BoundedSource) else None
    if leaf and isinstance(transform, beam.ParDo):
        return _pardo
    return None
