"""The graph of a run as an SVG image: chains of steps are boxes, in layers from the sources to the sinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

import attrs

from headrace.sdk.metrics.run_records import StepOutline
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.drawing.labels import short
from headrace.sdk.observing.drawing.text_width import end_of, rows_of
from headrace.sdk.observing.history import History

BOX_WIDTH: Final = 214
ROW: Final = 34
PANES: Final = 15
GAP: Final = 10
FALL: Final = 30
_PADDING: Final = 8
_INDENT: Final = 10
_ROOM: Final = BOX_WIDTH - 2 * _INDENT
_LABEL_SIZE: Final = 12
_NUMBERS_SIZE: Final = 11
"""Sizes of the fonts in pixels, as the style sheet has them."""

TIMING_LABELS: Final = {"EARLY": "early", "ON_TIME": "on time", "LATE": "late", "UNKNOWN": "panes"}
"""Names of timings in the graph."""


def graph_svg(history: History, seconds: float) -> str:
    """Return the graph with the numbers of each step.

    Args:
        history: the run.
        seconds: its duration, for the rates; 0 for none.
    """
    steps = history.run.steps if history.run else ()
    boxes = _placed(history, chains_of(steps), seconds)
    width = max((box.x + BOX_WIDTH for box in boxes), default=BOX_WIDTH) + 2
    height = max((box.y + box.height for box in boxes), default=0) + 2
    parts = [*_edges(boxes), *(_drawn(history, box, seconds) for box in boxes)]
    size = f'width="{width}" height="{height}" viewBox="-1 -1 {width} {height}"'
    return (
        f'<svg class="graph" role="img" aria-label="graph of the run" {size}>{"".join(parts)}</svg>'
    )


Chain = tuple[StepOutline, ...]


@attrs.frozen
class ChainBox:
    """A box of the graph.

    Attributes:
        chain: its steps.
        x: its left side.
        y: its upper side.
        height: its height.
    """

    chain: Chain
    x: int
    y: int
    height: int

    @property
    def middle(self) -> int:
        """The middle of its upper side."""
        return self.x + BOX_WIDTH // 2


def chains_of(steps: Sequence[StepOutline]) -> list[Chain]:
    """Return steps in chains: a step joins the one before it if it is its only reader and has no other input.

    A grouping begins a chain.
    """
    readers: dict[str, int] = {}
    for step in steps:
        for label in step.inputs:
            readers[label] = readers.get(label, 0) + 1
    chains: dict[str, list[StepOutline]] = {}
    ends: dict[str, list[StepOutline]] = {}
    for step in steps:
        before = ends.get(step.inputs[0]) if len(step.inputs) == 1 else None
        alone = before is not None and readers[step.inputs[0]] == 1 and not step.groups
        chain = before if alone and before is not None else chains.setdefault(step.label, [])
        chain.append(step)
        ends[step.label] = chain
    return [tuple(chain) for chain in chains.values()]


def _placed(history: History, chains: Sequence[Chain], seconds: float) -> list[ChainBox]:
    """Return the boxes: each in the layer below its inputs, as far under them as there is room."""
    layers: dict[int, list[Chain]] = {}
    for chain, depth in zip(chains, _depths(chains), strict=True):
        layers.setdefault(depth, []).append(chain)
    homes: dict[str, ChainBox] = {}
    boxes: list[ChainBox] = []
    y = 0
    for _, layer in sorted(layers.items()):
        row = [
            ChainBox(chain, x, y, _height(history, chain, seconds))
            for chain, x in _across(layer, homes)
        ]
        homes |= {step.label: box for box in row for step in box.chain}
        boxes += row
        y += max(box.height for box in row) + FALL
    left = min((box.x for box in boxes), default=0)
    return [attrs.evolve(box, x=box.x - left) for box in boxes]


def _across(layer: Sequence[Chain], homes: Mapping[str, ChainBox]) -> list[tuple[Chain, int]]:
    """Return the left sides of the boxes of a layer, which do not overlap; 0 is the middle of the graph."""
    wanted = sorted(((_below(chain, homes), n) for n, chain in enumerate(layer)))
    places: list[int] = []
    for x, _ in wanted:
        places.append(max(x, places[-1] + BOX_WIDTH + GAP) if places else x)
    shift = sum(place - x for place, (x, _) in zip(places, wanted, strict=True)) // len(places)
    return [(layer[n], place - shift) for place, (_, n) in zip(places, wanted, strict=True)]


def _below(chain: Chain, homes: Mapping[str, ChainBox]) -> int:
    """Return the left side of a box in the middle below its inputs."""
    inputs = [homes[label].x for label in chain[0].inputs if label in homes]
    return sum(inputs) // len(inputs) if inputs else -BOX_WIDTH // 2


def _depths(chains: Sequence[Chain]) -> list[int]:
    homes = {step.label: n for n, chain in enumerate(chains) for step in chain}
    depths: list[int] = []
    for chain in chains:
        inputs = [homes[label] for label in chain[0].inputs if label in homes]
        depths.append(max((depths[n] + 1 for n in inputs), default=0))
    return depths


def _height(history: History, chain: Chain, seconds: float) -> int:
    return (
        sum(_room_of(_lines(step, _metrics(history, step), seconds)) for step in chain) + _PADDING
    )


def _room_of(lines: Sequence[str]) -> int:
    """Return the height of a step: its label, and lines of numbers."""
    return ROW + PANES * (len(lines) - 1)


def _metrics(history: History, step: StepOutline) -> StepMetrics:
    return history.totals.get(step.label, StepMetrics())


def _edges(boxes: Sequence[ChainBox]) -> Iterator[str]:
    homes = {step.label: box for box in boxes for step in box.chain}
    for box in boxes:
        for label in box.chain[0].inputs:
            if label in homes:
                source = homes[label]
                yield _edge(source.middle, source.y + source.height, box.middle, box.y)


def _edge(x1: int, y1: int, x2: int, y2: int) -> str:
    middle = (y1 + y2) // 2
    return f'<path class="edge" d="M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}"/>'


def _drawn(history: History, box: ChainBox, seconds: float) -> str:
    first = box.chain[0]
    kind = "grouping" if first.groups else "steps" if first.inputs else "source"
    rows = []
    y = _PADDING // 2
    for step in box.chain:
        metrics = _metrics(history, step)
        lines = _lines(step, metrics, seconds)
        rows.append(_row(step, lines, y))
        y += _room_of(lines)
    frame = f'<rect class="{kind}" width="{BOX_WIDTH}" height="{box.height}" rx="6"/>'
    return f'<g class="box" transform="translate({box.x} {box.y})">{frame}{"".join(rows)}</g>'


def _row(step: StepOutline, lines: Sequence[str], y: int) -> str:
    name = end_of(step.label, _ROOM, _LABEL_SIZE, bold=True)
    texts = "".join(
        f'<text class="numbers" x="{_INDENT}" y="{y + 28 + n * PANES}">{line}</text>'
        for n, line in enumerate(lines)
    )
    return (
        f'<g class="step"><title>{escape(description(step))}</title>'
        f'<text class="label" x="{_INDENT}" y="{y + 14}">{escape(name)}</text>{texts}</g>'
    )


def description(step: StepOutline) -> str:
    """Return what is known of a step, one fact per line."""
    facts: Mapping[str, str] = {"step": step.label, "kind": step.kind, **step.properties}
    return "\n".join(f"{name}: {text}" for name, text in facts.items() if text)


def flow(step: StepOutline, metrics: StepMetrics, seconds: float) -> str:
    """Return the elements of a step in and out, and their rate, as a short text.

    Args:
        step: the step.
        metrics: its metrics.
        seconds: duration of the run; 0 for no rate.
    """
    return _DOT.join(_flow(step, metrics, seconds))


_DOT: Final = " · "


def _flow(step: StepOutline, metrics: StepMetrics, seconds: float) -> Iterator[str]:
    read, sent = metrics.elements_in, metrics.elements_out
    text = f"{short(read)} in" if step.inputs else f"{short(sent)} out"
    if step.inputs and sent not in (0, read):
        text += f" → {short(sent)} out"
    yield text
    rate = (read or sent) / seconds if seconds else 0
    if rate >= 1:
        yield f"{short(round(rate))}/s"


def _lines(step: StepOutline, metrics: StepMetrics, seconds: float) -> list[str]:
    """Return lines of an SVG text, none wider than a box: flow, panes by timing, what was changed."""
    flow = [("", part) for part in _flow(step, metrics, seconds)]
    return [line for parts in (flow, *_panes(metrics)) for line in _wrapped(parts)]


def _wrapped(parts: Sequence[tuple[str, str]]) -> Iterator[str]:
    texts = [text for _, text in parts]
    for row in rows_of(texts, _ROOM, _NUMBERS_SIZE, _DOT):
        yield _DOT.join(_span(*parts[n]) for n in row)


def _span(kind: str, text: str) -> str:
    return f'<tspan class="{kind}">{escape(text)}</tspan>' if kind else escape(text)


def _panes(metrics: StepMetrics) -> Iterator[list[tuple[str, str]]]:
    """Yield the panes by timing, then the retractions and dropped elements, as (class, text)."""
    yield [
        (timing.lower(), f"{short(metrics.panes[timing])} {name}")
        for timing, name in TIMING_LABELS.items()
        if metrics.panes[timing]
    ]
    yield [
        (kind, f"{short(number)} {name}")
        for kind, number, name in (
            ("retraction", metrics.retractions, "retractions"),
            ("late", metrics.late_dropped, "dropped"),
        )
        if number
    ]
