"""What griffe, which reads the package for the reference, does not know of our classes and docstrings.

attrs makes constructors that are nowhere in the source; they are looked up in the running package. And
docstrings hold doctests, roles and tables in the form of Sphinx, which Markdown would misread.
"""

from __future__ import annotations

import re
from importlib import import_module
from inspect import Parameter, formatannotation, signature
from itertools import pairwise
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|attr|mod):`(~?)([\w.]+)`")
DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
TABLE = re.compile(r"^=+ [= ]*$\n(?:.*\n)*?=+ [= ]*$(?!\n\S)", re.MULTILINE)


class ReadableReference(griffe.Extension):
    """Adds the constructors of attrs classes, and turns docstrings into Markdown."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Look at a whole package once it is loaded."""
        for thing in _all_in(pkg):
            if thing.docstring is not None:
                thing.docstring.value = markdown(thing.docstring.value)
            if thing.is_class and "__init__" not in thing.members:
                _add_constructor(thing)


def _all_in(thing: Any) -> list[Any]:
    members = [member for member in thing.members.values() if not member.is_alias]
    return [thing, *(inner for member in members for inner in _all_in(member))]


def _add_constructor(cls: griffe.Class) -> None:
    real: Any = import_module(cls.module.path)
    for name in cls.path.removeprefix(cls.module.path + ".").split("."):
        real = getattr(real, name)
    if "__attrs_attrs__" not in vars(real) and "__new__" not in vars(real):
        return
    parameters = [_parameter(each) for each in signature(real).parameters.values()]
    constructor = griffe.Function("__init__", parameters=griffe.Parameters(*parameters))
    cls.set_member("__init__", constructor)


def _parameter(parameter: Parameter) -> griffe.Parameter:
    known = parameter.annotation is not Parameter.empty
    optional = parameter.default is not Parameter.empty
    return griffe.Parameter(
        parameter.name,
        kind=griffe.ParameterKind(parameter.kind.description),
        annotation=_annotation(parameter.annotation) if known else None,
        default=_default(parameter.default) if optional else None,
    )


def _annotation(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else formatannotation(annotation)


def _default(default: object) -> str:
    shown = repr(default)
    return "…" if shown.startswith(("<", "NOTHING")) else shown


def markdown(docstring: str) -> str:
    """Return a docstring with doctests, roles and tables as Markdown has them."""
    text = TABLE.sub(lambda found: _table(found[0]), docstring)
    text = DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    return ROLE.sub(lambda found: f"`{found[2].split('.')[-1] if found[1] else found[2]}`", text)


def _table(text: str) -> str:
    """Return a simple table of reStructuredText as one of Markdown."""
    border, *lines = text.splitlines()
    starts = [found.start() for found in re.finditer("=+", border)]
    bounds = [*pairwise(starts), (starts[-1], None)]
    rows = [[line[start:end].strip() for start, end in bounds] for line in lines]
    headed = sum(line.startswith("=") for line in lines) > 1
    header = rows[0] if headed else [""] * len(bounds)
    body = [row for row in rows[headed:] if not row[0].startswith("=")]
    return "\n".join(map(_row, [header, ["---"] * len(bounds), *body]))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
