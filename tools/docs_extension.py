"""A griffe extension: adds what the API reference lacks when griffe only reads the source.

attrs generates constructors that are not in the source; their signatures come from the imported package.
Doctests, roles and tables in docstrings use Sphinx syntax and are converted to Markdown.
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
    """Adds the constructors of attrs classes, and converts docstrings to Markdown."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Extend a package after it is loaded."""
        _export(pkg)
        for item in _all_in(pkg):
            if item.docstring is not None:
                item.docstring.value = markdown(item.docstring.value)
            if item.is_class and "__init__" not in item.members:
                _add_constructor(item)


def _export(pkg: griffe.Module) -> None:
    """Set the public names, which griffe does not compute, and require that the page shows them all."""
    names = import_module(pkg.path).__all__
    missing = [name for name in names if name not in pkg.members]
    if missing:
        raise ValueError(f"the reference of {pkg.path} lacks {missing}")
    pkg.exports = list(names)


def _all_in(item: Any) -> list[Any]:
    members = [member for member in item.members.values() if not member.is_alias]
    return [item, *(inner for member in members for inner in _all_in(member))]


def _add_constructor(cls: griffe.Class) -> None:
    runtime_object: Any = import_module(cls.module.path)
    for name in cls.path.removeprefix(cls.module.path + ".").split("."):
        runtime_object = getattr(runtime_object, name)
    if "__attrs_attrs__" not in vars(runtime_object) and "__new__" not in vars(runtime_object):
        return
    parameters = [_parameter(each) for each in signature(runtime_object).parameters.values()]
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
    """Convert the doctests, roles and tables of a docstring to Markdown."""
    text = TABLE.sub(lambda found: _table(found[0]), docstring)
    text = DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    return ROLE.sub(lambda found: f"`{found[2].split('.')[-1] if found[1] else found[2]}`", text)


def _table(text: str) -> str:
    """Convert a reStructuredText simple table to Markdown."""
    border, *lines = text.splitlines()
    starts = [found.start() for found in re.finditer("=+", border)]
    bounds = [*pairwise(starts), (starts[-1], None)]
    rows = [[line[start:end].strip() for start, end in bounds] for line in lines]
    has_header = sum(line.startswith("=") for line in lines) > 1
    header = rows[0] if has_header else [""] * len(bounds)
    body = [row for row in rows[has_header:] if not row[0].startswith("=")]
    return "\n".join(map(_row, [header, ["---"] * len(bounds), *body]))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
