"""A program of the twin as data: a script, and transforms that read collections by number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import attrs

from headrace.sdk.testing.streams.script import Script, rows_of
from headrace.triggers import DefaultTrigger, WindowingStrategy

Actions = tuple[tuple[Any, ...], ...]
"""What a call of a stateful DoFn does: verbs with their arguments."""

ELEMENTWISE: Final = {"stamp", "route", "flatten", "read", "reshuffle", "look", "window"}
"""The kinds of nodes whose outputs come with their inputs, if these are not held back."""

GROUPING: Final = {"group", "combine", "globally", "join"}

OUTPUTS: Final = {"route": 2}
"""Number of outputs of the kinds that have several."""


@attrs.frozen
class Machine:
    """What a stateful DoFn does.

    Attributes:
        elements: the actions for an element, chosen by its number.
        event: the actions when an event-time timer fires.
        clock: the actions when a processing-time timer fires.
    """

    elements: tuple[Actions, ...]
    event: Actions
    clock: Actions

    @property
    def calls(self) -> tuple[Actions, ...]:
        """The actions of all calls."""
        return (*self.elements, self.event, self.clock)

    def does(self, verb: str) -> bool:
        """Return whether some call does something."""
        return any(action[0] == verb for actions in self.calls for action in actions)


@attrs.frozen
class Node:
    """A transform.

    Attributes:
        kind: its kind, a name in the table of transforms.
        inputs: the numbers of the collections that it reads; of a side input the second one.
        how: what its kind needs: windows, a function, the actions of a stateful DoFn.
    """

    kind: str
    inputs: tuple[int, ...]
    how: Any = None


@attrs.frozen
class Program:
    """A pipeline.

    Attributes:
        script: the events of its source.
        keys: the kind of its keys.
        windowing: the windowing of collection 0, which is the source.
        nodes: the transforms; their outputs are collections 1, 2, …
    """

    script: Script
    keys: str
    windowing: WindowingStrategy
    nodes: tuple[Node, ...]

    @property
    def outputs(self) -> list[range]:
        """The numbers of the collections that each node makes."""
        made, first = [], 1
        for node in self.nodes:
            made.append(range(first, first + OUTPUTS.get(node.kind, 1)))
            first = made[-1].stop
        return made

    @property
    def uses_the_clock(self) -> bool:
        """Whether a stateful DoFn sets a processing-time timer."""
        return any(isinstance(node.how, Machine) and node.how.does("wait") for node in self.nodes)

    @property
    def features(self) -> Iterator[str]:
        """What is counted of a program."""
        yield f"keys: {self.keys}"
        yield f"windows: {type(self.windowing.window_fn).__name__}"
        if rows_of(self.script):
            yield "elements"
        for node in self.nodes:
            yield from _features(node)


def _features(node: Node) -> Iterator[str]:
    yield f"{node.kind}: {node.how}" if isinstance(node.how, str) else node.kind
    if isinstance(node.how, Machine):
        verbs = {action[0] for actions in node.how.calls for action in actions}
        yield from (f"state: {verb}" for verb in sorted(verbs))


@attrs.frozen
class Shape:
    """What is known of a collection before a run.

    Attributes:
        windowing: its windowing.
        strategy: collections with the same one can be merged.
        on_time: whether its elements come at once, with the timestamps of the source or later ones.
        in_order: whether the elements of an event have an order: the parts of a splittable DoFn have none.
        ancestors: the numbers of the collections that it is made of, and its own.
    """

    windowing: WindowingStrategy
    strategy: Any
    on_time: bool = True
    in_order: bool = True
    ancestors: frozenset[int] = frozenset({0})


@cache
def shapes(program: Program) -> list[Shape]:
    """Return the shape of each collection."""
    known = [Shape(program.windowing, 0)]
    for node, made in zip(program.nodes, program.outputs, strict=True):
        known += [_shape(node, number, [known[n] for n in node.inputs]) for number in made]
    return known


def _shape(node: Node, number: int, inputs: list[Shape]) -> Shape:
    ancestors = frozenset({number}).union(*(each.ancestors for each in inputs))
    main = attrs.evolve(inputs[0], ancestors=ancestors)
    if node.kind == "window":
        return attrs.evolve(main, windowing=node.how, strategy=number)
    if node.kind in GROUPING:
        plain = isinstance(main.windowing.trigger, DefaultTrigger)
        strategy = main.strategy if plain else ("panes", number)
        return attrs.evolve(main, strategy=strategy, on_time=False)
    on_time = all(each.on_time for each in inputs) and node.kind in ELEMENTWISE - {"look"}
    in_order = all(each.in_order for each in inputs) and node.kind != "read"
    return attrs.evolve(main, on_time=on_time, in_order=in_order)
