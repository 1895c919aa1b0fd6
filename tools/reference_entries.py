"""One entry of the reference: the signature, docstring and members of a public name."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from itertools import pairwise
from types import ModuleType
from typing import Any

import attrs
from docstring_markdown import Link, first_paragraph, inline, markdown, row, without_arguments
from reference_sections import INTERNAL, MADE_BY_HEADRACE, is_function

from headrace.sdk.options.pipeline_options import PipelineOptions

WIDTH = 88
"""A signature that is longer has one line for each parameter."""

MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])")
FORWARD = re.compile(r"ForwardRef\('(\w+)'\)")
VARIADIC = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}

IsDescribed = Callable[[Any], bool]
"""Whether a class has an entry of its own."""


@attrs.frozen
class Member:
    """A method, property or class within a class."""

    name: str
    value: Any
    owner: type

    @property
    def docstring(self) -> str:
        """Its docstring, or the one that it inherits."""
        return inspect.getdoc(getattr(self.owner, self.name)) or ""

    @property
    def full_name(self) -> str:
        """Its name with that of its class."""
        return f"{self.owner.__name__}.{self.name}"

    @property
    def kind(self) -> str:
        """What it is, in a heading; nothing for a class."""
        return "" if inspect.isclass(self.value) else "method"


@attrs.frozen(eq=False)
class Entry:
    """A public name.

    Attributes:
        name: the name.
        value: what it stands for.
        module: the module that exports it.
    """

    name: str
    value: Any
    module: ModuleType

    @property
    def is_function(self) -> bool:
        """Whether it is a function."""
        return is_function(self.value)

    @property
    def full_name(self) -> str:
        """Its name."""
        return self.name

    @property
    def kind(self) -> str:
        """What it is, in a heading; nothing for a class."""
        return "function" if self.is_function else ""

    @property
    def docstring(self) -> str:
        """Its docstring, or the string below its assignment."""
        if inspect.isclass(self.value) or self.is_function:
            return inspect.getdoc(self.value) or ""
        return _assignment(self.module, self.name)[1]

    def members(self, is_described: IsDescribed) -> Iterator[Member]:
        """Yield the methods and classes that have a heading."""
        if inspect.isclass(self.value):
            for member in _own(self.value, is_described):
                if not isinstance(member.value, property):
                    yield member

    def properties(self, is_described: IsDescribed) -> Iterator[Member]:
        """Yield the properties."""
        for member in _own(self.value, is_described):
            if isinstance(member.value, property):
                yield member


def is_alias(value: Any) -> bool:
    """Return whether a value is neither a class nor a function, so that its identity means nothing."""
    return not (inspect.isclass(value) or is_function(value))


def describe(
    entry: Entry,
    level: int,
    link: Link,
    is_described: IsDescribed,
    title: Callable[[Member], str],
) -> str:
    """Return an entry as Markdown, without its heading."""
    if not inspect.isclass(entry.value):
        code = signature(entry.name, entry.value) if entry.is_function else _value(entry)
        return f"{_code(code)}\n\n{markdown(entry.docstring, link)}"
    if issubclass(entry.value, Enum):
        return "\n\n".join([*_class(entry, link, is_described), _enum_members(entry, link)])
    members = [
        _member(member, f"{'#' * (level + 1)} {title(member)}", link)
        for member in entry.members(is_described)
    ]
    return "\n\n".join([*_class(entry, link, is_described), *_flags(entry), *members])


def signature(name: str, function: Any, omit_first: bool = False) -> str:
    """Return a call with its parameters, their types and defaults.

    >>> def mill(wheels: "int", *, water: "str | None" = None) -> "float": ...
    >>> signature("mill", mill)
    'mill(wheels: int, *, water: str | None = None) -> float'
    """
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[omit_first:]
    shown = list(_parameters(parameters))
    returned = _type(found.return_annotation)
    result = f" -> {returned}" if returned and returned != "None" else ""
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){result}"


def _class(entry: Entry, link: Link, is_described: IsDescribed) -> Iterator[str]:
    """Yield the constructor, bases and docstring of a class."""
    call = _constructor(entry.name, entry.value)
    if call:
        yield _code(call)
    bases = [base.__name__ for base in _described_bases(entry.value, is_described)]
    if bases:
        yield f"A kind of {' and '.join(map(link, bases))}."
    properties = [
        f"- `{member.name}`: {first_paragraph(member.docstring, link)}"
        for member in entry.properties(is_described)
    ]
    docstring = entry.docstring if call else without_arguments(entry.docstring)
    yield markdown(docstring, link, "\n".join(properties))


def _constructor(name: str, cls: type) -> str:
    """Return the call that makes an instance; nothing if users do not call it."""
    if name in MADE_BY_HEADRACE or issubclass(cls, Enum) or getattr(cls, "_is_protocol", False):
        return ""
    if _defines(cls, "__init__"):
        return signature(name, cls.__init__, omit_first=True)
    if _defines(cls, "__new__"):
        return signature(name, cls.__new__, omit_first=True).removesuffix(f" -> {name}")
    if issubclass(cls, BaseException):
        return ""
    return "" if inspect.isabstract(cls) or _is_namespace(cls) or _is_base(cls) else f"{name}()"


def _defines(cls: type, name: str) -> bool:
    """Return whether a class, or a base in the package, defines a method."""
    return any(
        name in vars(base) and base.__module__.startswith("headrace")
        for base in cls.__mro__
        if base not in (object, typing.Generic)
    )


def _is_namespace(cls: type) -> bool:
    return any(
        inspect.isclass(each) or isinstance(each, staticmethod) for each in vars(cls).values()
    )


def _is_base(cls: type) -> bool:
    """Return whether a class has methods that a subclass must define."""
    return any(
        getattr(getattr(cls, name, None), "__isabstractmethod__", False) for name in dir(cls)
    )


def _described_bases(cls: type, is_described: IsDescribed) -> list[type]:
    """Return the nearest bases with entries."""
    found = [base for base in cls.__mro__[1:] if is_described(base)]
    return [base for base in found if not any(base in each.__mro__[1:] for each in found)]


def _own(cls: type, is_described: IsDescribed) -> Iterator[Member]:
    """Yield the public members of a class and its undescribed bases, without those that are overridden."""
    known = (
        b for b in cls.__mro__[1:] if is_described(b) or b.__module__.startswith("apache_beam")
    )
    inherited = {name for base in known for name in dir(base)}
    hidden = inherited.union(*(INTERNAL.get(base.__name__, ()) for base in cls.__mro__))
    seen = set()
    for base in cls.__mro__:
        if base is not cls and (is_described(base) or not base.__module__.startswith("headrace")):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in hidden or name in seen or not _is_member(value):
                continue
            seen.add(name)
            yield Member(name, value, cls)


def _is_member(value: Any) -> bool:
    kinds = (property, classmethod, staticmethod)
    return inspect.isfunction(value) or isinstance(value, kinds) or inspect.isclass(value)


def _member(member: Member, heading: str, link: Link) -> str:
    """Return a method or an inner class as Markdown."""
    name = member.full_name
    if inspect.isclass(member.value):
        call = _constructor(name, member.value)
    else:
        bound = isinstance(member.value, (classmethod, staticmethod))
        function = getattr(member.owner, member.name)
        call = signature(name if bound else member.name, function, omit_first=not bound)
    must = getattr(member.value, "__isabstractmethod__", False)
    parts = [
        heading,
        _code(call) if call else "",
        "A subclass must define it." if must else "",
        markdown(member.docstring, link),
    ]
    return "\n\n".join(filter(None, parts))


def _enum_members(entry: Entry, link: Link) -> str:
    """Return a table of the members of an enum, with the strings below them as their meanings."""
    meanings = _strings_below(inspect.getsource(entry.value), entry.value.__name__)
    names = list(entry.value.__members__)
    undescribed = [name for name in names if name not in meanings]
    if undescribed:
        raise SystemExit(f"{entry.name}: no string below the members {', '.join(undescribed)}")
    rows = [
        row([f"`{entry.name}.{name}`", inline(" ".join(meanings[name].split()), link)])
        for name in names
    ]
    return "\n".join(["| member | meaning |", "|---|---|", *rows])


def _flags(entry: Entry) -> Iterator[str]:
    """Yield a table of the flags of a class of options."""
    if not issubclass(entry.value, PipelineOptions) or entry.value is PipelineOptions:
        return
    parser = ArgumentParser(add_help=False)
    entry.value._add_argparse_args(parser)
    rows = []
    for action in parser._actions:
        if action.help == SUPPRESS:
            continue
        names = [flag for flag in action.option_strings if "_" not in flag]
        value = f" {action.metavar}" if action.metavar else ""
        meaning = (action.help or "").replace("%%", "%").replace("|", "\\|")
        rows.append(
            row([f"`{(names or action.option_strings)[0]}{value}`", f"`{action.dest}`", meaning])
        )
    if rows:
        yield "\n".join(["| flag | name | meaning |", "|---|---|---|", *rows])


def _value(entry: Entry) -> str:
    """Return the assignment of a constant or an alias of types."""
    return f"{entry.name} = {_assignment(entry.module, entry.name)[0]}"


@cache
def _assignment(module: ModuleType, name: str) -> tuple[str, str]:
    """Return the value in the source of an assignment, and the string below it."""
    source = inspect.getsource(module)
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ImportFrom) and _imports(statement, name):
            return _assignment(import_module(statement.module or ""), name)
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name:
            meaning = _strings_in(ast.parse(source).body).get(name)
            if meaning is None or statement.value is None:
                raise SystemExit(f"{module.__name__}.{name}: no string below it says what it is")
            return ast.unparse(statement.value), meaning
    raise SystemExit(f"{module.__name__}.{name}: not assigned with an annotation")


def _imports(statement: ast.ImportFrom, name: str) -> bool:
    return name in [alias.name for alias in statement.names]


def _strings_below(source: str, cls: str) -> dict[str, str]:
    found = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(found, ast.ClassDef), cls
    return _strings_in(found.body)


def _strings_in(body: list[ast.stmt]) -> dict[str, str]:
    """Return the strings directly below assignments."""
    found = {}
    for statement, below in pairwise(body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        target = statement.target if isinstance(statement, ast.AnnAssign) else target
        if target and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[ast.unparse(target)] = str(below.value.value)
    return found


def _parameters(parameters: list[Parameter]) -> Iterator[str]:
    """Yield parameters as in a definition."""
    keywords_only = False
    positional = [each for each in parameters if each.kind is Parameter.POSITIONAL_ONLY]
    for parameter in parameters:
        if parameter.kind is Parameter.KEYWORD_ONLY and not keywords_only:
            keywords_only = True
            yield "*"
        keywords_only |= parameter.kind is Parameter.VAR_POSITIONAL
        yield _parameter(parameter)
        if positional and parameter is positional[-1]:
            yield "/"


def _parameter(parameter: Parameter) -> str:
    name = VARIADIC.get(parameter.kind, "") + parameter.name
    annotation = _type(parameter.annotation)
    typed = f"{name}: {annotation}" if annotation else name
    if parameter.default is Parameter.empty:
        return typed
    equals = " = " if annotation else "="
    return f"{typed}{equals}{_default(parameter.default)}"


def _type(annotation: Any) -> str:
    if annotation in (Parameter.empty, Signature.empty):
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return MODULES.sub("", FORWARD.sub(r"\1", text))


def _default(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({', '.join(map(_default, value))}{',' * (len(value) == 1)})"
    if inspect.isclass(value) or inspect.isfunction(value):
        return value.__name__
    text = repr(value)
    return "…" if text.startswith("<") or text == "NOTHING" else text


def _code(text: str) -> str:
    return f"```py\n{text}\n```"
