"""Write docs/reference/beam.md: each public name of Beam's core SDK, and what Headrace has for it.

`make beam-reference` calls this, and `make check` calls it with `--check`. It compares the installed
apache-beam with Headrace: whether a name exists under the same path with the import changed, whether it takes
the same arguments, and whether a class has the same attributes. What the comparison cannot tell is in
tools/beam_reference.toml and in headrace/sdk/beam/names.py: what to use in place of a name that is missing.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.metadata
import inspect
import logging
import pkgutil
import sys
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from headrace.sdk.beam.names import BEAM_NAMES

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/beam.md"
DATA = ROOT / "tools/beam_reference.toml"

CORE = (
    "coders",
    "io",
    "metrics",
    "options",
    "runners",
    "testing",
    "transforms",
    "typehints",
    "utils",
)
"""Packages whose modules are listed one by one."""

SAME, DIFFERENT, MISSING = "same", "different", "missing"

HEAD = """# Beam's names

This page compares each public name of Apache Beam {version}'s core SDK with what Headrace has under the same
path, after `import apache_beam as beam` has become `import headrace as beam`. A tool compares names,
arguments and methods; a test checks that the page is current. How the *same* names differ in
what they compute is in [Differences from Beam](differences.md), and [Beam's own tests](beam-tests.md) shows
how many of those pass.

| | names |
|---|---|
| same | {same} |
| different: some arguments or methods are missing, or as the row says | {different} |
| missing | {missing} |

A program that uses a missing name gets an `AttributeError` or an `ImportError`, for most of these names with
the text of this page. Not repeated in each row are attributes that many of Beam's classes have:

| attribute | |
|---|---|
{attributes}"""

MODULES = """
## Other modules

Modules and packages without names for pipelines, or for services and languages that Headrace does not
support.

| module | why, or what instead |
|---|---|
"""


class Row(NamedTuple):
    """A row of the page."""

    name: str
    status: str
    text: str


class Data(NamedTuple):
    """The content of beam_reference.toml."""

    public: list[str]
    attributes: dict[str, str]
    modules: dict[str, str]
    names: dict[str, str]
    different: dict[str, str]

    @staticmethod
    @cache
    def read() -> Data:
        """Read the file."""
        content = tomllib.loads(DATA.read_text())
        return Data(**content)


# --------------------------------------------------------------------------------------- Beam's names


def module_paths(beam: Path) -> Iterator[str]:
    """Yield the paths of the modules and packages in the core SDK, and of the packages beside it."""
    for found in pkgutil.iter_modules([str(beam)]):
        if found.name not in CORE and not _is_for_tests(found.name):
            yield found.name
    for package in CORE:
        for found in pkgutil.iter_modules([str(beam / package)]):
            if not _is_for_tests(found.name):
                yield f"{package}.{found.name}"


def _is_for_tests(name: str) -> bool:
    return name.endswith(("_test", "_it_test", "_pb2", "_perf", "_test_py3")) or name in (
        *("conftest", "error", "examples", "version"),
    )


def names_of(path: str) -> dict[str, Any]:
    """Return the public names of one of Beam's modules; what cannot be imported is None."""
    try:
        module = importlib.import_module(f"apache_beam.{path}".rstrip("."))
    except ImportError:  # it needs a package that is not installed
        return dict.fromkeys(_declared(path))
    names = getattr(module, "__all__", None)
    if path in ("", "runners"):
        names = [name for name, thing in vars(module).items() if _is_public(thing)]
    if names is None:
        names = [name for name, thing in vars(module).items() if _is_own(thing, module.__name__)]
    return {name: getattr(module, name) for name in names if not name.startswith("_")}


def _is_own(thing: Any, module: str) -> bool:
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return False
    return f"{getattr(thing, '__module__', '')}.".startswith(f"{module}.")


def _is_public(thing: Any) -> bool:
    """Return whether a name of a package comes from one of the modules that are listed."""
    return any(_is_own(thing, f"apache_beam.{path}") for path in Data.read().public if path)


def _declared(path: str) -> list[str]:
    """Return the public names that the source of a module declares."""
    source = find_source(path).read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
    ]


def find_source(path: str) -> Path:
    """Return the file of one of Beam's modules."""
    return beam_package().joinpath(*path.split(".")).with_suffix(".py")


def beam_package() -> Path:
    """Return the directory of the installed package."""
    spec = find_spec("apache_beam")
    return Path((spec and spec.origin) or "").parent


# ----------------------------------------------------------------------------------------- comparison


def rows_of(path: str) -> list[Row]:
    """Return the rows of a module: what is missing first."""
    own = _own_module(path)
    rows = [_row(path, name, thing, own) for name, thing in names_of(path).items()]
    order = (MISSING, DIFFERENT, SAME)
    return sorted(rows, key=lambda row: (order.index(row.status), row.name))


def _own_module(path: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"headrace.{path}".rstrip("."))
    except ModuleNotFoundError:
        return None


_ABSENT = object()


def _row(path: str, name: str, theirs: Any, own: ModuleType | None) -> Row:
    full = f"{path}.{name}".lstrip(".")
    try:
        ours = getattr(own, name, _ABSENT) if own else _ABSENT
    except ImportError:
        ours = _ABSENT
    data = Data.read()
    if ours is _ABSENT:
        return Row(name, MISSING, _reason(data.names, full) or BEAM_NAMES.get(name, ""))
    texts = [text for text in (data.different.get(full, ""), *differences(theirs, ours)) if text]
    return Row(name, DIFFERENT if texts else SAME, "; ".join(texts))


def differences(theirs: Any, ours: Any) -> Iterator[str]:
    """Describe arguments and methods of Beam's that Headrace's name lacks."""
    if theirs is None or theirs is ours:
        return
    arguments = missing_arguments(theirs, ours)
    if arguments:
        yield f"without the arguments {_listed(arguments)}"
    if inspect.isclass(theirs):
        methods = sorted(
            name
            for name in public_methods(theirs)
            if not has_attribute(ours, name) and not _is_internal(name)
        )
        if methods:
            yield f"without the attributes {_listed(methods)}"


def has_attribute(ours: Any, name: str) -> bool:
    """Return whether a class has an attribute, or sets it on its instances."""
    owners = [owner for owner in getattr(ours, "__mro__", ()) if owner.__module__ != "builtins"]
    return hasattr(ours, name) or any(_sets(owner, name) for owner in owners)


@cache
def _sets(owner: type, name: str) -> bool:
    if name in getattr(owner, "__annotations__", {}):
        return True
    try:
        return f"self.{name}" in inspect.getsource(owner)
    except (OSError, TypeError):
        return False


def missing_arguments(theirs: Any, ours: Any) -> list[str]:
    """Return the named arguments of Beam's that Headrace's class or function does not take."""
    wanted, accepted = _parameters(theirs), _parameters(ours)
    if wanted is None or accepted is None:
        return []
    if any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
        return []
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [name for name, p in wanted.items() if p.kind not in variadic and name not in accepted]


def _parameters(thing: Any) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return None


def public_methods(theirs: type) -> set[str]:
    """Return the public attributes that one of Beam's classes defines."""
    owners = [owner for owner in theirs.__mro__ if owner.__module__.startswith("apache_beam")]
    names = {name for owner in owners for name in vars(owner)}
    return {name for name in names if not name.startswith("_")}


def _is_internal(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in Data.read().attributes)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# ----------------------------------------------------------------------------------------------- page


def module_rows(beam: Path) -> list[Row]:
    """Return the rows of the modules that have no section."""
    data = Data.read()
    paths = [path for path in module_paths(beam) if path not in data.public]
    listed = [
        path for path in paths if not any(public.startswith(f"{path}.") for public in data.public)
    ]
    return [Row(path, "", _reason(data.modules, path)) for path in listed]


def _reason(reasons: Mapping[str, str], path: str) -> str:
    """Return the reason of a path: its own, or that of a pattern that it matches."""
    patterns = (text for pattern, text in reasons.items() if fnmatchcase(path, pattern))
    return reasons.get(path) or next(patterns, "")


def problems(sections: Mapping[str, list[Row]], modules: list[Row]) -> list[str]:
    """Describe missing names and modules without a reason, and reasons that nothing needs."""
    data = Data.read()
    rows = {
        f"{path}.{row.name}".lstrip("."): row for path, found in sections.items() for row in found
    }
    missing = {name for name, row in rows.items() if row.status == MISSING}
    silent = [f"no reason why {name} is missing" for name in missing if not rows[name].text]
    silent += [f"no reason for the module {row.name}" for row in modules if not row.text]
    unused = [
        f"[names] has {pattern}, which is not missing"
        for pattern in data.names
        if not any(fnmatchcase(name, pattern) for name in missing)
    ]
    unused += [
        f"[different] has {name}, which is missing"
        for name in data.different.keys() - (rows.keys() - missing)
    ]
    used = {row.name for row in modules}
    unused += [
        f"[modules] has {pattern}, which is no module without a section"
        for pattern in data.modules
        if not any(fnmatchcase(name, pattern) for name in used)
    ]
    return sorted(silent) + unused


def page(sections: Mapping[str, list[Row]], modules: list[Row], version: str) -> str:
    """Return the text of the page."""
    rows = [row for found in sections.values() for row in found]
    counts = {
        status: sum(row.status == status for row in rows) for status in (SAME, DIFFERENT, MISSING)
    }
    common: dict[str, list[str]] = {}
    for name, why in Data.read().attributes.items():
        common.setdefault(why, []).append(f"`{name}`")
    attributes = "".join(f"| {', '.join(names)} | {why} |\n" for why, names in common.items())
    text = HEAD.format(version=version, attributes=attributes, **counts)
    for path, found in sections.items():
        text += f"\n## {f'beam.{path}' if path else 'beam'}\n\n| name | | |\n|---|---|---|\n"
        text += "".join(_line(row) for row in found)
    return text + MODULES + "".join(f"| `{row.name}` | {_cell(row.text)} |\n" for row in modules)


def _line(row: Row) -> str:
    status = f"**{row.status}**" if row.status == MISSING else row.status
    return f"| `{row.name}` | {status} | {_cell(row.text)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Run the command; return 1 if a reason is missing, or if the page is not current with --check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if the page is not current")
    check = parser.parse_args().check
    if find_spec("apache_beam") is None:
        print("apache-beam is not installed, so docs/reference/beam.md is not checked")
        return 0 if check else 1
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    version = importlib.metadata.version("apache-beam")
    if check and f"Apache Beam {version}'s" not in (PAGE.read_text() if PAGE.exists() else ""):
        print(
            f"docs/reference/beam.md is not about the installed version {version}, so it is not checked"
        )
        return 0
    sections = {path: rows_of(path) for path in Data.read().public}
    modules = module_rows(beam_package())
    wrong = problems(sections, modules)
    text = page(sections, modules, version)
    if check and (not PAGE.exists() or PAGE.read_text() != text):
        wrong.append("docs/reference/beam.md is not current: run make beam-reference")
    if not check:
        PAGE.write_text(text)
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
