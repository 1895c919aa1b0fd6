"""Every public name exists, says what it means, is typed, and shows an example that runs.

The public modules are `headrace` itself, the homes `headrace.windowing`, `headrace.triggers` and
`headrace.testing`, and every module outside the rooms (these are aliases, under Beam's paths).
The examples themselves are run as doctests by `make check`.
"""

import ast
import importlib
import importlib.resources
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import headrace
from headrace.sdk.beam.names import GOOGLE_MODULES

ROOMS = ("windowing", "triggers", "grouping", "sdk", "runners")
HOMES = ("headrace.windowing", "headrace.triggers", "headrace.testing")
INTERNAL = ("headrace.errors", "headrace.stored_formats", "headrace.__main__")
"""Headrace itself exports what is public in the first two; the last one is a command."""


def alias_modules(package: ModuleType) -> Iterator[str]:
    """Names of the modules beside the rooms, with everything below them."""
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if found.name.removeprefix("headrace.") in ROOMS or found.name in INTERNAL:
            continue
        yield found.name
        if found.ispkg:
            yield from alias_modules(importlib.import_module(found.name))


NOT_INSTALLED = set() if importlib.util.find_spec("apache_beam") else {"headrace.beam"}
PUBLIC_MODULES = sorted({"headrace", *HOMES, *alias_modules(headrace)} - NOT_INSTALLED)


def load(name: str) -> ModuleType | None:
    """Import a public module; None if it is missing (`test_public_module` says so)."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def is_described(thing: object) -> bool:
    """Whether a name stands for a thing that carries documentation of its own; Python's hint forms do not."""
    of_python = getattr(thing, "__module__", "") == "collections.abc"
    return not of_python and (inspect.isclass(thing) or inspect.isroutine(thing))


def exported(module_names: list[str]) -> dict[str, object]:
    """What the modules export, by full name. A name without a value maps to the AttributeError."""
    found: dict[str, object] = {}
    for module_name in module_names:
        module = load(module_name)
        for name in getattr(module, "__all__", ()):
            try:
                found[f"{module_name}.{name}"] = getattr(module, name)
            except AttributeError as missing:
                found[f"{module_name}.{name}"] = missing
    return found


EXPORTED = exported(PUBLIC_MODULES)
DESCRIBED: dict[str, Any] = {name: thing for name, thing in EXPORTED.items() if is_described(thing)}
# The same thing under several names is looked at once, under the shortest.
DISTINCT = {id(DESCRIBED[name]): name for name in sorted(DESCRIBED, key=len, reverse=True)}
DISTINCT_NAMES = sorted(DISTINCT.values())
FLAT = sorted(name for name in DESCRIBED if name.count(".") == 1)


def public_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The constructor and public methods, properties included, that Headrace's classes define."""
    for owner in cls.__mro__:
        if owner.__module__.split(".")[0] != "headrace":
            continue
        for name, member in vars(owner).items():
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
                yield f"{owner.__qualname__}.{name}", function


def missing_annotations(function: Callable[..., Any]) -> list[str]:
    """The parameters (and `return`) of a function that carry no annotation."""
    signature = inspect.signature(function)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.annotation is parameter.empty
        and parameter.kind not in variadic
        and parameter.name not in ("self", "cls")
    ]
    if signature.return_annotation is signature.empty:
        missing.append("return")
    return missing


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_public_module(name: str) -> None:
    module = load(name)
    assert module is not None, f"{name} is missing"
    assert module.__doc__, f"{name} has no docstring"
    exports = getattr(module, "__all__", ())
    only_a_folder = hasattr(module, "__path__") and name not in ("headrace", *HOMES)
    only_refused = name.removeprefix("headrace.") in GOOGLE_MODULES
    assert exports or only_a_folder or only_refused, f"{name} has no __all__"
    assert len(set(exports)) == len(exports), f"{name}.__all__ names a thing twice"


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_what_a_public_module_defines_or_imports_is_exported(name: str) -> None:
    module = load(name)
    assert module is not None, f"{name} is missing"
    public = {
        attribute
        for attribute, thing in vars(module).items()
        if is_described(thing) and thing.__module__.split(".")[0] == "headrace"
        if not attribute.startswith("_")
    }
    assert public <= set(getattr(module, "__all__", ()))


@pytest.mark.parametrize("name", sorted(EXPORTED))
def test_exported_name_exists(name: str) -> None:
    assert not isinstance(EXPORTED[name], AttributeError)


@pytest.mark.parametrize("name", DISTINCT_NAMES)
def test_docstring(name: str) -> None:
    thing = DESCRIBED[name]
    # A class does not inherit its meaning; a method may.
    assert vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    if inspect.isclass(thing):
        assert [
            method
            for method, _ in public_methods(thing)
            if not method.endswith(".__init__")
            and not inspect.getdoc(getattr(thing, method.rpartition(".")[2]))
        ] == []


@pytest.mark.parametrize("name", DISTINCT_NAMES)
def test_annotations(name: str) -> None:
    thing = DESCRIBED[name]
    functions = public_methods(thing) if inspect.isclass(thing) else [(name, thing)]
    untyped = {label: missing_annotations(function) for label, function in functions}
    assert {label: missing for label, missing in untyped.items() if missing} == {}


@pytest.mark.parametrize("name", FLAT)
def test_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(DESCRIBED[name]) or ""), f"{name} shows no doctest example"


def test_the_package_says_that_it_is_typed() -> None:
    assert (importlib.resources.files("headrace") / "py.typed").is_file()


def loaded_by(program: str) -> set[str]:
    """The modules that a program loads in a process of its own, standard library aside."""
    measured = (
        f"import sys; before = set(sys.modules); {program}; print(*set(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return {m for m in run.stdout.split() if m.split(".")[0] not in sys.stdlib_module_names}


def test_import_loads_nothing_else_until_a_name_is_used() -> None:
    assert loaded_by("import headrace") == {"headrace"}
    assert "headrace.sdk.pipelines.pipeline" in loaded_by("import headrace; headrace.Pipeline")


def test_all_public_names_need_only_attrs() -> None:
    loaded = loaded_by("from headrace import *")
    assert {module.split(".")[0] for module in loaded} == {"headrace", "attr", "attrs"}


def test_type_checkers_see_the_names_that_are_loaded_when_used() -> None:
    tree = ast.parse(inspect.getsource(headrace))
    (static,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{statement.module}.{alias.name}"
        for statement in static.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if not (alias.asname or alias.name).startswith("_")
    }
    names = {name: f"{module}.{name}" for module, some in headrace._NAMES.items() for name in some}
    assert seen == headrace._MODULES | names
    assert {*seen, "explain"} == set(headrace.__all__) <= set(dir(headrace))


def test_a_name_that_is_missing_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Mapp'"):
        headrace.Mapp  # noqa: B018
