"""The pipeline: collects the nodes of its transforms into a graph, and runs it once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from types import TracebackType
from typing import Any, Protocol

import attrs

from headrace.errors import HeadraceError, PipelineError, shorten
from headrace.sdk.elements.type_variables import ResultT
from headrace.sdk.metrics.observe_options import add_observers
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.options.options_context import with_context
from headrace.sdk.options.pipeline_options import (
    PipelineOptions,
    RunOptions,
    StandardOptions,
    TypeOptions,
    with_option,
)
from headrace.sdk.options.value_provider import RuntimeValueProvider
from headrace.sdk.pipelines import graph as kinds
from headrace.sdk.pipelines.applied import Applications, AppliedPTransform, PipelineVisitor, visit
from headrace.sdk.pipelines.beam_runners import refuse_runner
from headrace.sdk.pipelines.captured_objects import check_captured
from headrace.sdk.pipelines.flags import warn_of_flags
from headrace.sdk.pipelines.graph import Graph, Node
from headrace.sdk.pipelines.notebook.display import collection_html, pipeline_html, pipeline_text
from headrace.sdk.pipelines.notebook.notebook_cells import CellRun, current_cell, told, with_readers
from headrace.sdk.pipelines.picklability import check_picklable
from headrace.sdk.pipelines.pipeline_use import PipelineUse
from headrace.sdk.pipelines.pvalue import Applicable, PBegin, PCollection, PDone
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.pipelines.returned_tuples import warn_of_items
from headrace.sdk.pipelines.runner_lookup import Runner, find_runner, is_local
from headrace.sdk.pipelines.runtime_type_checks import (
    checked_inputs,
    checked_output,
    checked_result,
)
from headrace.sdk.pipelines.tracebacks import HiddenFrames
from headrace.sdk.pipelines.transform import NamedTransform, PTransform, pvalues_in
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.sdk.typehints.outputs import emitted


class ClosesErrors(Protocol):
    """An error handler."""

    def verify_closed(self) -> None:
        """Raise an error if dead letters would be lost."""


class Pipeline(HasDisplayData):
    """A graph of transforms, built with ``|`` and run once, at the latest at the end of a ``with``.

    Args:
        runner: name of the runner, "local" or "spark"; overrides the option ``--runner``.
        options: the options; by default the options of the command line.
        argv: flags, if ``options`` is not given.
        observers: are told what happens in the run, in addition to those that the options ask for.
        display_data: what the pipeline tells about itself, by name (see
            :class:`headrace.transforms.display.DisplayData`).

    Attributes:
        result: the result of the run; None before the run.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | Map(lambda x: x * x) | "Show" >> Map(print)
    1
    4
    9
    """

    def __init__(
        self,
        runner: str | Runner | None = None,
        options: PipelineOptions | None = None,
        argv: list[str] | None = None,
        observers: Sequence[RunObserver] = (),
        display_data: Mapping[str, Any] | None = None,
    ) -> None:
        refuse_runner(runner)
        self.options = with_context(options if options is not None else PipelineOptions(argv))
        add_observers(self.options, observers)
        self.result: PipelineResult | None = None
        self._runner = runner
        self._display_data = dict(display_data or {})
        self._nodes: dict[str, Node] = {}
        self._labels: set[str] = set()
        self._scope: list[str] = []
        self._ran = False
        self._returned_tuples: set[str] = set()
        self._error_handlers: list[ClosesErrors] = []
        self._applications = Applications()
        self._cells: dict[str, CellRun | None] = {}
        self._has_replaced = False
        self._use = PipelineUse.watch(self)

    @property
    def graph(self) -> Graph:
        """The graph so far."""
        if not self._scope:
            self._use.dismiss()
        return self.graph_so_far

    @property
    def graph_so_far(self) -> Graph:
        """The graph so far, for what shows the pipeline; unlike ``graph``, it does not count as use."""
        return Graph(tuple(self._nodes.values()))

    @property
    def scope(self) -> str:
        """Full label of the transform that is being applied."""
        return "/".join(self._scope)

    @property
    def allow_unsafe_triggers(self) -> bool:
        """Whether triggers that may lose data are allowed."""
        return bool(self.options.view_as(TypeOptions).allow_unsafe_triggers)

    @cached_property
    def type_checks(self) -> bool:
        """Whether types are checked while the pipeline is built."""
        return bool(self.options.view_as(TypeOptions).pipeline_type_check)

    @cached_property
    def _runtime_type_checks(self) -> bool:
        return bool(self.options.view_as(TypeOptions).runtime_type_check)

    def __or__(self, transform: Applicable[PBegin, ResultT]) -> ResultT:
        """Apply a transform to the beginning of the pipeline."""
        return self.apply(transform, PBegin(self))

    def apply(
        self,
        transform: Applicable[Any, ResultT],
        pvalueish: object = None,
        label: str | None = None,
    ) -> ResultT:
        """Apply a transform, as ``pvalueish | label >> transform`` does.

        Args:
            transform: the transform.
            pvalueish: its input; the beginning of the pipeline if None.
            label: name of this application; the transform's own label if None.

        Raises:
            PipelineError: the transform cannot be applied to the input, or its label is in use.
        """
        applied = _require_transform(transform, pvalueish)
        pvalueish = PBegin(self) if pvalueish is None or pvalueish is self else pvalueish
        if not self._scope:
            self._replace_steps_of_cell()
        name = label or applied.label
        while isinstance(applied, NamedTransform):
            applied = applied.transform
        with self._applying(self._unique(name), applied, pvalueish) as application:
            self._check_input(applied, pvalueish)
            if self.type_checks:
                applied.type_check_inputs(pvalueish)
            if self._runtime_type_checks:
                pvalueish = checked_inputs(pvalueish, applied.types_of_inputs(), self.scope)
            result: ResultT = applied.expand(pvalueish)
            if self.type_checks:
                applied.type_check_outputs(result)
            self._set_producer(result, applied, pvalueish)
            if self._runtime_type_checks:
                result = checked_result(result, applied.get_type_hints(), self.scope)
            application.give(result)
        if not self._scope:
            self._cells[application.full_label] = current_cell()
        return result

    def add(self, node: Node) -> None:
        """Add a node to the graph; for transforms that are not composed of others."""
        self._check_sources(node)
        self._nodes[node.label] = node
        warn_of_items(self._nodes, node, self._returned_tuples)
        self._use.begin(self._scope[0] if self._scope else node.label)

    def add_error_handler(self, handler: ClosesErrors) -> None:
        """Add an error handler, which must be closed before the pipeline runs."""
        if handler not in self._error_handlers:
            self._error_handlers.append(handler)

    def free_node(self, label: str) -> str:
        """Return an unused label of a node: this label, or this label with a number."""
        numbered = (label if n == 1 else f"{label}_{n}" for n in count(1))
        return next(name for name in numbered if name not in self._nodes)

    def free_label(self, label: str) -> str:
        """Return an unused top-level label: this label, or this label with a number."""
        numbered = (label if n == 1 else f"{label}_{n}" for n in count(1))
        return next(name for name in numbered if name not in self._labels)

    def output(self, label: str, tag: str) -> PCollection[Any]:
        """Return an output of a node; add it if it does not exist."""
        node = self._nodes[label]
        found = next((out for out in node.outputs if out.tag == tag), None)
        if found is None:
            found = attrs.evolve(node.outputs[0], tag=tag, element_type=Any)
            self._nodes[label] = attrs.evolve(node, outputs=(*node.outputs, found))
        pcoll: PCollection[object] = PCollection(self, found)
        return checked_output(pcoll, label) if self._runtime_type_checks else pcoll

    def accept_any_tag(self, label: str) -> None:
        """Let a node drop outputs with tags that are not declared, where they would be an error."""
        node = self._nodes[label]
        assert isinstance(node, (kinds.ParDo, kinds.StatefulParDo, kinds.ParDoWithSideInputs))
        self._nodes[label] = attrs.evolve(node, any_tag=True)

    def late_outputs(self, label: str) -> list[PCollection[Any]]:
        """Return the outputs for late elements of all groupings in a transform."""
        return [
            PCollection(self, out)
            for node in self._nodes.values()
            if isinstance(node, (kinds.GroupByKey, kinds.CombinePerKey))
            and _lies_in(node.label, label)
            for out in node.outputs
            if out.tag != kinds.MAIN
        ]

    @property
    def applied(self) -> AppliedPTransform:
        """The transforms that were applied so far, as a tree; its root is the pipeline."""
        return self._applications.root

    def visit(self, visitor: PipelineVisitor) -> None:
        """Tell a visitor of each transform that was applied so far, and of its parts and its collections."""
        visit(self.applied, visitor)

    def display_data(self) -> dict[str, Any]:
        """Return what the pipeline tells about itself, by name."""
        return self._display_data

    @property
    def runner(self) -> Runner:
        """The runner.

        Raises:
            UnsupportedError: there is no runner with the name that was given.
        """
        return find_runner(self._runner or self.options.view_as(StandardOptions).runner)

    def run(self, test_runner_api: object = None, *, replace: bool = False) -> PipelineResult:
        """Run the pipeline; this can be done only once, unless the run fails.

        Args:
            test_runner_api: ignored; accepted for compatibility with Beam.
            replace: whether to end another run that owns the checkpoint of this one, as the flag
                ``--replace-run`` does. The other run ends as CANCELLED, and this one goes on from there.

        Raises:
            CheckpointInUseError: another run owns the checkpoint, and ``replace`` is False, or that run does
                not end.
            PipelineError: the pipeline has run before.
            PipelineError: a function refers to a collection or a pipeline.
            PipelineError: the runner sends functions to workers, and one of them cannot be pickled.
            PipelineError: a package that a flag needs is not installed, or its file or port cannot be used.
            UnsupportedError: the runner is unknown or does not support the pipeline.
        """
        with self._hidden_frames:
            return self._start(replace)

    @property
    def _hidden_frames(self) -> HiddenFrames:
        return HiddenFrames(bool(self.options.view_as(StandardOptions).full_traceback))

    def _start(self, replace: bool) -> PipelineResult:
        self._check_open()
        self._use.dismiss()
        for handler in self._error_handlers:
            handler.verify_closed()
        runner = self.runner
        check_captured(self.graph, (PCollection, Pipeline))
        if getattr(runner, "ships_functions", False):
            check_picklable(self.graph)
        options = with_option(self.options, "replace_run", True) if replace else self.options
        warn_of_flags(options, local=is_local(runner))
        self._ran = True
        try:
            self.result = self._run_on(runner, options)
        except BaseException:
            self._ran = False
            raise
        return self.result

    def _run_on(self, runner: Runner, options: PipelineOptions) -> PipelineResult:
        """Run with the values of the options known to value providers.

        They remain known if the run goes on in the background.
        """
        RuntimeValueProvider.set_runtime_options(RunOptions(options))
        state = PipelineState.FAILED
        try:
            result = runner.run(self.graph, options)
            state = getattr(result, "state", PipelineState.DONE)
        finally:
            if PipelineState.is_terminal(state):
                RuntimeValueProvider.set_runtime_options(None)
        return result

    def __str__(self) -> str:
        """Return the plan of the steps so far as text, and whether the pipeline has run."""
        return pipeline_text(self.graph_so_far, "" if self.result is None else self.result.state)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the plan in IPython on a terminal."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """Show the plan in a notebook."""
        return pipeline_html(self.graph_so_far, "" if self.result is None else self.result.state)

    def _html_of(self, pcoll: PCollection[object]) -> str:
        """Return what is known of a collection as a fragment of HTML, for notebooks."""
        return collection_html(pcoll.producer, pcoll.collection, pcoll.element_type)

    def __enter__(self) -> Pipeline:
        """Return the pipeline."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Run the pipeline and wait for its end, unless building it failed."""
        self._use.dismiss()
        if kind is None:
            with self._hidden_frames:
                result = self.run()
                if not self.options.view_as(StandardOptions).no_wait_until_finish:
                    result.wait_until_finish()

    @contextmanager
    def _applying(
        self, name: str, transform: PTransform[Any, Any], pvalueish: object
    ) -> Iterator[AppliedPTransform]:
        """Build under a label; restore the graph if that fails."""
        self._check_open()
        self._scope.append(name)
        label, nodes, labels = self.scope, self._nodes.copy(), self._labels.copy()
        try:
            self._claim(label)
            with self._applications.applying(label, transform, pvalueish) as application:
                yield application
        except Exception as error:
            self._nodes, self._labels = nodes, labels
            self._use.dismiss()
            if isinstance(error, HeadraceError) and not error.where:
                error.where = label
            raise
        finally:
            self._scope.pop()

    def _unique(self, name: str) -> str:
        """Return the name of an application; with ``--auto_unique_labels`` one that is not in use."""
        within = "".join(f"{label}/" for label in self._scope)
        if within + name not in self._labels:
            return name
        if not self.options.view_as(StandardOptions).auto_unique_labels:
            return name
        return self.free_label(within + name).removeprefix(within)

    def _claim(self, label: str) -> None:
        if label in self._labels:
            raise PipelineError(
                f"the label {label!r} is already in use in this pipeline",
                remedy="name this application of the transform: pcoll | 'another name' >> transform; "
                "or let --auto_unique_labels number it",
            )
        self._labels.add(label)

    def _replace_steps_of_cell(self) -> None:
        """Remove the steps that an earlier run of this cell of a notebook added, and all that read them."""
        now = current_cell()
        if now is None or self._ran:
            return
        own = [label for label, cell in self._cells.items() if now.repeats(cell)]
        if not own:
            return
        tops = {node: self._top_of(node) for node in self._nodes}
        removed = with_readers(own, self._nodes.values(), tops)
        self._nodes = {label: n for label, n in self._nodes.items() if tops[label] not in removed}
        self._labels = {
            label for label in self._labels if not any(_lies_in(label, top) for top in removed)
        }
        self._applications.remove(removed)
        lost = [label for label in self._cells if label in removed and label not in own]
        self._cells = {label: cell for label, cell in self._cells.items() if label not in removed}
        self._has_replaced = True
        if lost:
            print(told(own, lost), file=sys.stderr)

    def _top_of(self, node: str) -> str:
        """Return the label of the application at the top level in which a node is."""
        return next((label for label in self._cells if _lies_in(node, label)), node)

    def _check_sources(self, node: Node) -> None:
        """Refuse a step that reads from one that was removed when its cell was run again."""
        for source in node.inputs if self._has_replaced else ():
            if source.node not in self._nodes:
                raise PipelineError(
                    f"its input {source.node} was removed when a cell was run again",
                    where=node.label,
                    remedy="run the cell again that applies it, then this one",
                )

    def _check_open(self) -> None:
        if self._ran:
            raise PipelineError(
                "this pipeline has already run",
                remedy="build a new pipeline; a pipeline cannot change or run again after a run",
            )

    def _check_input(self, transform: PTransform[Any, Any], pvalueish: object) -> None:
        for value in pvalues_in(pvalueish):
            if value.pipeline is not self:
                raise PipelineError(
                    f"{value!r} belongs to another pipeline",
                    remedy="read its input in this pipeline; pipelines cannot share collections",
                )
            if isinstance(value, PDone):
                raise PipelineError(
                    f"{transform.label} is applied to the end of a branch",
                    remedy="apply it to the collection that was written",
                )

    def _set_producer(
        self, result: object, transform: PTransform[Any, Any], pvalueish: object
    ) -> None:
        """Record the producer of a result, and the element type that the transform declares."""
        for value in pvalues_in(result):
            if isinstance(value, PCollection) and _lies_in(value.collection.node, self.scope):
                value.producer = self.scope
                declared = transform.output_type
                if declared is not None:
                    value.element_type = emitted(declared)[0]
                elif value is result and value.element_type is Any:
                    given = getattr(pvalueish, "element_type", Any)
                    value.element_type = transform.infer_output_type(given)


def _lies_in(label: str, scope: str) -> bool:
    return label == scope or label.startswith(scope + "/")


def _require_transform(transform: object, pvalueish: object) -> PTransform[Any, Any]:
    if not isinstance(transform, PTransform):
        raise PipelineError(
            f"{shorten(transform)} is not a transform",
            where=repr(pvalueish) if pvalueish is not None else "",
            remedy="wrap a function in hr.Map, hr.FlatMap or hr.Filter, and a DoFn in hr.ParDo",
        )
    return transform
