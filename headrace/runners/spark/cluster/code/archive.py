"""Packs a job for workers that lack its packages: one zip file, which Spark unpacks on each worker.

The file has what the program imports: modules of the user, and packages with all that they require, as they
are installed here. So the workers get the versions that the driver has. Imports are found in the source;
nothing is executed. Packages with compiled code work too, because the file is unpacked, but the workers need
the platform and the minor version of Python of this machine.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    packages_distributions,
)
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import attrs

from headrace.errors import PipelineError
from headrace.runners.spark.cluster.requirements import REQUIREMENTS, python_version

FROM_SPARK: Final = ("pyspark", "py4j")
"""Packages that the cluster brings."""

_SKIPPED: Final = ("__pycache__", "node_modules")


@attrs.frozen
class Job:
    """The requirements of a program on a worker.

    Attributes:
        files: path in the archive and path here.
        modules: names of the user's modules.
        packages: versions of the packages by name.
        not_found: names that the program imports and that are not installed here.
    """

    files: tuple[tuple[str, Path], ...]
    modules: tuple[str, ...]
    packages: dict[str, str]
    not_found: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write the archive."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, file in self.files:
                archive.write(file, name)

    def described(self, script: Path, path: Path) -> str:
        """Return what the archive has, and how to use it."""
        use = f"{path}#{path.stem}"
        lines = [
            f"{path}: {path.stat().st_size / 1e6:.1f} MB, for Python {python_version()} on "
            f"{sysconfig.get_platform()}",
            f"modules: {', '.join(self.modules) or 'none'}",
            f"packages: {', '.join(f'{n} {v}' for n, v in sorted(self.packages.items()))}",
            f"spark-submit --archives {use} {script} --runner=spark",
            f"python {script} --runner=spark --spark-master=URL --spark-conf spark.archives={use}",
        ]
        if self.not_found:
            lines.insert(3, f"not installed here, so not included: {', '.join(self.not_found)}")
        return "\n".join(lines)


def job_of(script: Path, include: Iterable[str] = (), without: Iterable[str] = ()) -> Job:
    """Return what a program needs on a worker: modules, packages, Headrace, and what Spark's Python needs.

    Args:
        script: the program.
        include: names of more modules, which the program imports by name.
        without: names of packages that the workers have.

    Raises:
        PipelineError: there is no such program.
    """
    if not script.is_file():
        raise PipelineError(
            f"there is no file {str(script)!r}",
            where="headrace package",
            remedy="name the program that you would run with python",
        )
    scan = _Scan([str(script.parent.absolute()), *sys.path[1:]])
    scan.read(script)
    for name in ("headrace", "attr", *include):
        scan.take(name)
    roots = {*scan.packages, *(r.package for r in REQUIREMENTS if r.package not in FROM_SPARK)}
    found = _with_requirements(roots, {*map(_normal, without), *FROM_SPARK, "headrace"})
    files = dict(scan.files)
    for package in found.values():
        files.update(_files_of(package))
    return Job(
        files=tuple(sorted(files.items())),
        modules=tuple(sorted(scan.modules)),
        packages={package.metadata["Name"]: package.version for package in found.values()},
        not_found=tuple(sorted(scan.not_found)),
    )


class _Scan:
    """Follows imports in source files."""

    def __init__(self, path: list[str]) -> None:
        self.files: dict[str, Path] = {}
        self.modules: set[str] = set()
        self.packages: set[str] = set()
        self.not_found: set[str] = set()
        self._path = path
        self._seen: set[str] = set()
        self._packages_of = packages_distributions()

    def take(self, name: str) -> None:
        """Take a top-level module: a package, or a module of the user with what it imports."""
        if name in self._seen or name in sys.stdlib_module_names or name in FROM_SPARK:
            return
        self._seen.add(name)
        spec = PathFinder.find_spec(name, self._path) or find_spec(name)
        places = [] if spec is None else _places(spec)
        if not places:
            self.not_found.add(name)
        elif name != "headrace" and name in self._packages_of and all(map(_is_installed, places)):
            self.packages.update(self._packages_of[name])
        else:
            self._take_module(name, places)

    def read(self, file: Path) -> None:
        """Take what a source file imports."""
        if file.suffix != ".py":
            return
        for name in _imports(file):
            self.take(name)

    def _take_module(self, name: str, places: Iterable[Path]) -> None:
        if name != "headrace":
            self.modules.add(name)
        for place in places:
            for file in _files_in(place) if place.is_dir() else [place]:
                inside = file.relative_to(place.parent).as_posix()
                self.files[inside] = file
                if name != "headrace":  # its optional imports are not needed
                    self.read(file)


def _imports(file: Path) -> Iterator[str]:
    """Yield the top-level names that a file imports anywhere, also in functions."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:  # data of a package, or source of another version
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def _places(spec: ModuleSpec) -> list[Path]:
    """Return the directories of a package, or the file of a module."""
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations if Path(place).is_dir()]
    return [Path(spec.origin)] if spec.origin and Path(spec.origin).is_file() else []


def _is_installed(path: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _files_in(directory: Path) -> Iterator[Path]:
    for here, below, files in os.walk(directory):
        below[:] = sorted(d for d in below if not d.startswith(".") and d not in _SKIPPED)
        yield from (Path(here, file) for file in sorted(files) if not file.endswith(".pyc"))


def _with_requirements(names: Iterable[str], without: set[str]) -> dict[str, Distribution]:
    """Return the installed packages with these names and all that they require, by normal name."""
    found: dict[str, Distribution] = {}
    waiting = [_normal(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found or name in without:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # an optional requirement, or one of another platform
            continue
        waiting.extend(_requirements(found[name]))
    return found


def _requirements(package: Distribution) -> Iterator[str]:
    """Yield the names that a package requires, without its extras."""
    for requirement in package.requires or ():
        what, _, marker = requirement.partition(";")
        name = re.match(r"\s*([\w.-]+)", what)
        if name and "extra" not in marker:
            yield _normal(name[1])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files_of(package: Distribution) -> Iterator[tuple[str, Path]]:
    for file in package.files or ():
        if file.parts[0] != ".." and not file.name.endswith(".pyc"):
            path = Path(str(package.locate_file(file)))
            if path.is_file():
                yield file.as_posix(), path
