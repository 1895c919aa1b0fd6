"""Write the modules under Beam's paths, as headrace/transforms/core.py, from headrace/sdk/beam/paths.toml.

`make beam-paths` calls this, and `make check` calls it with `--check`. The modules import names and contain
no code of their own. A file in a folder of theirs that is not in the table is an error.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "headrace"
TABLE = PACKAGE / "sdk/beam/paths.toml"

HEADER = (
    "# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`."
)
NAMES = "headrace.sdk.beam.names"
REFUSALS = {"beam": "missing_names_of", "google": "google_names_of"}
WIDTH = 100
"""Longer lines are broken, as ruff breaks them."""


class Module(NamedTuple):
    """A section of the table."""

    doc: str
    imports: dict[str, list[str]]
    all_of: list[str]
    unlisted: list[str]
    refuses: str


@cache
def table() -> dict[str, Module]:
    """Return the sections of the table, by the name of their module in headrace."""
    sections = tomllib.loads(TABLE.read_text())
    return {
        name: Module(
            section.pop("doc"),
            section.pop("from", {}),
            section.pop("all_of", []),
            section.pop("unlisted", []),
            section.pop("refuses", ""),
            *section,  # a key that is not known here is an error
        )
        for name, section in sections.items()
    }


# ------------------------------------------------------------------------------------------ one module


def names(module: Module) -> list[str]:
    """Return the names in ``__all__`` of a module, in the order of ruff.

    >>> names(
    ...     Module("", {"a": ["pair", "Pair", "as_pair as PAIR", "Row as _Row"]}, [], ["_Row"], "")
    ... )
    ['PAIR', 'Pair', 'pair']
    """
    bound = {name_bound(name) for found in imports(module).values() for name in found}
    return sorted(bound - set(module.unlisted), key=order)


def imports(module: Module) -> dict[str, list[str]]:
    """Return the names that a module imports, by the module that has them."""
    found = dict(module.imports)
    for other in module.all_of:
        found[f"headrace.{other}"] = names(table()[other])
    return found


def name_bound(name: str) -> str:
    """Return the name that an import binds.

    >>> name_bound("Schema as RowTypeConstraint")
    'RowTypeConstraint'
    """
    return name.rpartition(" as ")[2]


def order(name: str) -> tuple[int, str]:
    """Return the place of a name as ruff sorts: constants, then classes, then the rest.

    >>> sorted(["row", "_Row", "Row", "ROW"], key=order)
    ['ROW', 'Row', '_Row', 'row']
    """
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[0].isupper() else 2), name


def import_order(name: str) -> tuple[int, str, str]:
    """Return the place of a name in an import, where ruff ignores case within a kind of names.

    >>> sorted(["ReadableFile", "ReadAll as All", "READ"], key=import_order)
    ['READ', 'ReadableFile', 'ReadAll as All']
    """
    imported = name.partition(" as ")[0]
    return order(imported)[0], imported.lower(), imported


def text(module: Module) -> str:
    """Return the source of a module."""
    return "\n".join([HEADER, *docstring(module.doc), *body(module), ""])


def docstring(doc: str) -> list[str]:
    """Return the docstring as lines."""
    lines = doc.strip().splitlines()
    return [f'"""{lines[0]}"""'] if len(lines) == 1 else [f'"""{lines[0]}', *lines[1:], '"""']


def body(module: Module) -> Iterator[str]:
    """Yield the lines below the docstring."""
    needed = imports(module)
    if not needed and not module.refuses:
        return
    of_python = {name: found for name, found in needed.items() if not name.startswith("headrace")}
    of_headrace = {name: found for name, found in needed.items() if name not in of_python}
    if module.refuses:
        of_python["typing"] = ["TYPE_CHECKING as _TYPE_CHECKING", *of_python.get("typing", [])]
        of_headrace[NAMES] = [f"{REFUSALS[module.refuses]} as _{REFUSALS[module.refuses]}"]
    for group in (of_python, of_headrace):
        for name in sorted(group):
            yield from ["", *_import(name, group[name], module.unlisted)][name != min(group) :]
    yield from ["", *listed("__all__", names(module))]
    if module.refuses:
        yield from ["", "if not _TYPE_CHECKING:"]
        yield f"    __getattr__ = _{REFUSALS[module.refuses]}(__name__)"


def _import(name: str, imported: list[str], unlisted: list[str]) -> list[str]:
    ordered = sorted(imported, key=import_order)
    unused = any(bound in unlisted and bound[0] == "_" for bound in map(name_bound, imported))
    noqa = "  # noqa: F401" if unused else ""
    line = f"from {name} import {', '.join(ordered)}"
    if len(line) <= WIDTH:
        return [line + noqa]
    return [f"from {name} import ({noqa}", *(f"    {each}," for each in ordered), ")"]


def listed(name: str, values: list[str]) -> list[str]:
    """Return a list of names as lines of source.

    >>> listed("__all__", ["Pair", "Row"])
    ['__all__ = ["Pair", "Row"]']
    """
    if not values:
        return [f"{name}: list[str] = []"]
    quoted = [f'"{value}"' for value in values]
    line = f"{name} = [{', '.join(quoted)}]"
    return (
        [line] if len(line) <= WIDTH else [f"{name} = [", *(f"    {one}," for one in quoted), "]"]
    )


# ------------------------------------------------------------------------------------------- all files


def files() -> dict[Path, str]:
    """Return the text of each file."""
    return {path_of(name): text(module) for name, module in table().items()}


def path_of(name: str) -> Path:
    """Return the file of a module: a package if the table has modules in it.

    >>> path_of("io").relative_to(PACKAGE).as_posix()
    'io/__init__.py'
    >>> path_of("io.avroio").relative_to(PACKAGE).as_posix()
    'io/avroio.py'
    """
    path = PACKAGE.joinpath(*name.split("."))
    is_package = any(other.startswith(f"{name}.") for other in table())
    return path / "__init__.py" if is_package else path.with_suffix(".py")


def folders() -> set[Path]:
    """Return the folders that have files of the table only."""
    return {path.parent for path in files() if path.name == "__init__.py"}


def strangers(folder: Path, known: Iterable[Path]) -> list[Path]:
    """Return the modules in a folder, or below it, that are not known."""
    return sorted(set(folder.rglob("*.py")) - set(known))


def outdated() -> list[Path]:
    """Return the files that differ from the table, and those that should not exist."""
    wanted = files()
    changed = {path for path in wanted if not path.exists() or path.read_text() != wanted[path]}
    return sorted(changed.union(*(strangers(folder, wanted) for folder in folders())))


def write() -> None:
    """Write the files."""
    for path, content in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def main() -> int:
    """Write or check the files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    if not parser.parse_args().check:
        write()
    wrong = [str(path.relative_to(ROOT)) for path in outdated()]
    for path in wrong:
        print(f"{path} is not what the table says: run `make beam-paths`", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
