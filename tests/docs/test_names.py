"""Each name of the package has one home: no two modules define the same class, alias or constant."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.docs.test_rooms import is_generated
from tests.support.repository import ROOT

GRAPH = "headrace/sdk/pipelines/graph.py"
OPERATORS = "headrace/runners/engine/operators.py"

NODES = {
    "AssignWindows",
    "CombinePerKey",
    "Flatten",
    "GroupByKey",
    "ParDo",
    "Read",
    "Reshuffle",
    "Write",
}
"""Nodes of the graph: the transform and the operator of a node can have its name."""

PUBLIC = {
    "BoundedSource": "the source, and Beam's base class for sources under headrace.io.iobase",
    "Largest": "the combiner of the largest values, and a combiner of the test kit",
    "Never": "the trigger, and the end of polling that users see in the repr of never()",
    "OffsetRange": "a restriction, and part of a Kafka partition, whose name can be in checkpoints",
    "Partition": "the transform, and a class whose name is in checkpoints",
    "Sink": "the sink, and Beam's base class for sinks under headrace.io.iobase",
    "SparkRunner": "the runner, and Beam's name for it, which loads Spark only when a pipeline runs",
    "WatermarkEstimator": "that of a partition of a source, and Beam's base class for splittable DoFns",
}
"""Names of users that two modules define, each with the reason."""


def names_of(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the classes, aliases and public constants that a module defines, without type variables."""
    for statement in body:
        match statement:
            case ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if _is_named(name, value):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_named(name, value):
                yield name
            case ast.If(body=then, orelse=otherwise) | ast.Try(body=then, orelse=otherwise):
                yield from {*names_of(then), *names_of(otherwise)}


def _is_named(name: str, value: ast.expr | None) -> bool:
    return name[0].isupper() and "TypeVar" not in ast.dump(value or ast.Constant(None))


def homes() -> Mapping[str, list[Path]]:
    """Return the modules that define each name."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted((ROOT / "headrace").rglob("*.py")):
        if not is_generated(path):
            for name in names_of(ast.parse(path.read_text()).body):
                found[name].append(path.relative_to(ROOT))
    return found


def test_each_name_has_one_home() -> None:
    several = {
        name: [str(path) for path in paths]
        for name, paths in homes().items()
        if len(paths) > 1 and name not in PUBLIC
    }
    crowded = {
        name: paths
        for name, paths in several.items()
        if name not in NODES or len(set(paths) - {GRAPH, OPERATORS}) > 1
    }
    assert crowded == {}, (
        "two modules define a name: rename one, or let one import it from the other"
    )


def test_exceptions_are_needed() -> None:
    found = homes()
    assert {name for name in [*NODES, *PUBLIC] if len(found[name]) < 2} == set()
    assert {name for name in NODES if Path(GRAPH) not in found[name]} == set()


def test_names_with_two_homes_are_found() -> None:
    module = ast.parse(
        "import x\n"
        "T = TypeVar('T')\n"
        "_HIDDEN = 1\n"
        "class One: ...\n"
        "Two: TypeAlias = int\n"
        "Three = Callable[[], int]\n"
        "if x:\n    FOUR: Final = 4\nelse:\n    FOUR = 5\n"
        "five = 5\n"
    )
    assert list(names_of(module.body)) == ["One", "Two", "Three", "FOUR"]
