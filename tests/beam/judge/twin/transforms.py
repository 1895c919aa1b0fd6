"""A program as a pipeline, of `apache_beam` or of Headrace by the same code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from headrace.sdk.beam.judge.in_beam import BEAM_HOMES, batch, into, scripted_stream
from headrace.triggers import WindowingStrategy
from tests.beam.judge.twin.dofns import (
    KEYS,
    in_order,
    machine,
    module,
    number,
    reader,
    routing,
    stamping,
    statistics,
    tapping,
    with_side,
    with_values,
)
from tests.beam.judge.twin.language import Node, Program


@cache
def namespace(names: str) -> dict[str, Any]:
    """Return the names of the expressions of a script and of windows."""
    found = {"beam": module(names)}
    for home in BEAM_HOMES:
        found |= vars(module(names, home.removeprefix("apache_beam.")))
    return found


def evaluated(names: str, expression: str) -> Any:
    """Evaluate an expression of Beam's names."""
    return eval(expression, dict(namespace(names)))


def build(
    p: Any, program: Program, names: str, streaming: bool, path: str = "", prefix: str = ""
) -> None:
    """Apply the transforms of a program to a pipeline, with a tap for each collection.

    Args:
        p: the pipeline.
        program: the program.
        names: "beam" or "headrace".
        streaming: whether its source is the script, or a batch of all its elements.
        path: the file of the taps; "" for a list of this process.
        prefix: begins all labels.
    """
    b = module(names)
    source = _source(p, program, names, streaming, prefix)
    keyed = source | f"{prefix}keys" >> b.MapTuple(_keyed(program.keys))
    made = [keyed | f"{prefix}windows" >> window_into(names, program.windowing)]
    for n, node in enumerate(program.nodes):
        inputs = [made[i] for i in node.inputs]
        made += TRANSFORMS[node.kind](names, f"{prefix}{n} {node.kind}", node, *inputs)
    for n, collection in enumerate(made):
        _ = collection | f"{prefix}tap {n}" >> b.ParDo(tapping(names)(f"{prefix}{n}", path))


def _source(p: Any, program: Program, names: str, streaming: bool, prefix: str) -> Any:
    if streaming:
        return p | f"{prefix}source" >> evaluated(names, "".join(scripted_stream(program.script)))
    created, stamped = (evaluated(names, part) for part in batch(program.script))
    return p | f"{prefix}source" >> created | f"{prefix}times" >> stamped


def _keyed(kind: str) -> Callable[[str, Any], Any]:
    def keyed(letter: str, value: Any) -> Any:
        return KEYS[kind](letter), value

    return keyed


def window_into(names: str, windowing: WindowingStrategy) -> Any:
    """Return the WindowInto of a windowing strategy."""
    return evaluated(names, into(windowing))


def _window(names: str, label: str, node: Node, main: Any) -> list[Any]:
    return [main | label >> window_into(names, node.how)]


def _stamp(names: str, label: str, node: Node, main: Any) -> list[Any]:
    return [main | label >> module(names).ParDo(stamping(names)(node.how))]


def _route(names: str, label: str, node: Node, main: Any) -> list[Any]:
    routed = module(names).ParDo(routing(names)()).with_outputs("odd", main="main")
    outputs = main | label >> routed
    return [outputs["main"], outputs["odd"]]


def _flatten(names: str, label: str, node: Node, one: Any, other: Any) -> list[Any]:
    return [(one, other) | label >> module(names).Flatten()]


def _read(names: str, label: str, node: Node, main: Any) -> list[Any]:
    return [main | label >> module(names).ParDo(reader(names)())]


def _reshuffle(names: str, label: str, node: Node, main: Any) -> list[Any]:
    return [main | label >> module(names).Reshuffle()]


def _state(names: str, label: str, node: Node, main: Any) -> list[Any]:
    return [main | label >> module(names).ParDo(machine(names)(node.how))]


def _group(names: str, label: str, node: Node, main: Any) -> list[Any]:
    b = module(names)
    grouped = main | label >> b.GroupByKey()
    return [grouped | f"{label} in order" >> b.MapTuple(lambda k, values: (k, in_order(values)))]


def combine_fn(names: str, how: str) -> Any:
    """Return a function that combines numbers."""
    combiners = module(names, "transforms.combiners")
    return {
        "sum": lambda: sum,
        "largest": lambda: largest,
        "statistics": statistics(names),
        "count": combiners.CountCombineFn,
        "mean": combiners.MeanCombineFn,
        "top": lambda: combiners.TopCombineFn(2),
    }[how]()


def largest(values: Any) -> int:
    """Return the largest value, or 0 if there is none."""
    return max(values, default=0)


def _combine(names: str, label: str, node: Node, main: Any) -> list[Any]:
    b = module(names)
    numbers = main | f"{label} numbers" >> b.MapTuple(lambda k, value: (k, number(value)))
    return [numbers | label >> b.CombinePerKey(combine_fn(names, node.how))]


def _globally(names: str, label: str, node: Node, main: Any) -> list[Any]:
    b = module(names)
    numbers = main | f"{label} numbers" >> b.MapTuple(lambda _, value: number(value))
    combine = b.CombineGlobally(combine_fn(names, node.how)).without_defaults()
    return [numbers | label >> combine | f"{label} key" >> b.Map(lambda value: ("all", value))]


def _join(names: str, label: str, node: Node, one: Any, other: Any) -> list[Any]:
    b = module(names)
    joined = (one, other) | label >> b.CoGroupByKey()
    return [
        joined | f"{label} in order" >> b.MapTuple(lambda k, sides: (k, in_order(tuple(sides))))
    ]


def _look(names: str, label: str, node: Node, main: Any, side: Any) -> list[Any]:
    b, views = module(names), module(names, "pvalue")
    if node.how == "single":
        numbers = side | f"{label} numbers" >> b.MapTuple(lambda _, value: number(value))
        total = numbers | f"{label} total" >> b.CombineGlobally(sum).without_defaults()
        view = views.AsSingleton(total, default_value=-1)
    elif node.how == "dict":
        numbers = side | f"{label} numbers" >> b.MapTuple(lambda k, value: (k, number(value)))
        view = views.AsDict(numbers | f"{label} total" >> b.CombinePerKey(sum))
    elif node.how == "multimap":
        return [main | label >> b.Map(with_values, views.AsMultiMap(side))]
    else:
        view = (views.AsList if node.how == "list" else views.AsIter)(side)
    return [main | label >> b.Map(with_side, view)]


TRANSFORMS: Final[dict[str, Callable[..., list[Any]]]] = {
    "window": _window,
    "stamp": _stamp,
    "route": _route,
    "flatten": _flatten,
    "read": _read,
    "reshuffle": _reshuffle,
    "state": _state,
    "group": _group,
    "combine": _combine,
    "globally": _globally,
    "join": _join,
    "look": _look,
}
"""What applies a node, by its kind: given the names, the label, the node and its inputs, the outputs."""
