"""Sends the code that workers need with the job, so that it need not be installed on them.

A zip file contains headrace, attrs, and the user's modules: those that this process has imported from
outside the directories of Python and pip, such as the script's directory, the working directory or an
editable install. Functions of ``__main__`` are pickled by value. The zip file includes byte code, which
makes the first import on a worker 2.5 times faster.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import marshal
import os
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Final

import attrs
from pyspark import SparkConf, SparkContext, SparkFiles
from pyspark.sql import SparkSession

from headrace.errors import PipelineError
from headrace.runners.spark.cluster.connect import is_connect, send_artifact

ALWAYS: Final = ("headrace", "attr", "attrs")
"""The packages that every worker needs and that Spark does not include."""

_SPARKS_OWN: Final = ("pyspark", "py4j")
_NOT_CODE: Final = ("__pycache__", "site-packages", "dist-packages", "node_modules")


@attrs.frozen
class SourceFile:
    """A file of Python source.

    Args:
        name: its path in the zip file.
        path: its path on the driver.
    """

    name: str
    path: Path


def send_code(spark: SparkSession, py_files: Iterable[str] = ()) -> None:
    """Send workers the code that they need and do not have yet.

    Call it before a function is passed to Spark, because Spark then records the files of the function.

    Args:
        spark: the session of the workers.
        py_files: additional ``.py``, ``.zip`` and ``.egg`` files.

    Raises:
        PipelineError: a file does not exist.
    """
    users = list(sources(user_modules()))
    code = [*_always(), *users]
    name = f"headrace-{hashlib.sha256(_always_contents() + _contents(users)).hexdigest()[:16]}.zip"
    if is_connect(spark):
        for file in py_files:
            check_exists(file)
            spark.addArtifacts(file, pyfile=True)
        send_artifact(spark, name, zipped(code))
        return
    context = spark.sparkContext
    for file in py_files:
        _add_file(context, file)
    if not _is_added(context, name):
        path = Path(context._temp_dir, name)  # Spark removes it when the JVM ends
        path.write_bytes(zipped(code))
        _add_for_workers_only(context, path)
    _extend_python_path(context)


@cache
def _always() -> tuple[SourceFile, ...]:
    """Return the files that every worker needs; this process has imported them and does not do so again."""
    return tuple(sources(ALWAYS))


def user_modules() -> list[str]:
    """Return the names of the user's top-level modules that this process has imported."""
    names = {name.partition(".")[0] for name in list(sys.modules)}
    return sorted(name for name in names if _is_users(name))


def sources(names: Iterable[str]) -> Iterator[SourceFile]:
    """Yield the source files of imported top-level modules, including all files of packages."""
    for name in names:
        module = sys.modules.get(name) or importlib.import_module(name)
        for path in _paths(module):
            if path.is_dir():
                yield from _in_package(name, path)
            elif path.suffix == ".py":
                yield SourceFile(f"{name}.py", path)


def zipped(files: Iterable[SourceFile]) -> bytes:
    """Return a zip file of source files and their byte code; the same files give the same bytes.

    Of files with the same name, in a package that is in several directories, the first one is taken, as
    Python imports it.
    """
    by_name: dict[str, SourceFile] = {}
    for file in files:
        by_name.setdefault(file.name, file)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        kept = [by_name[name] for name in sorted(by_name)]
        for directory in sorted({f"{parent}/" for file in kept for parent in _parents(file.name)}):
            _write(archive, directory, b"")  # needed to find directories without __init__.py
        for file in kept:
            source = file.path.read_bytes()
            _write(archive, file.name, source)
            compiled = _compiled(source, str(file.path))
            if compiled is not None:
                _write(archive, f"{file.name}c", compiled)
    return buffer.getvalue()


@cache
def _always_contents() -> bytes:
    return _contents(_always())


def _contents(files: Iterable[SourceFile]) -> bytes:
    """Return the names of files with digests of their contents."""
    contents = []
    for file in files:
        status = file.path.stat()
        content = _content_digest(file.path, status.st_size, status.st_mtime_ns)
        contents.append(f"{file.name}\0{content}\0")
    return "".join(contents).encode()


@cache
def _content_digest(path: Path, size: int, changed: int) -> str:
    """Return a digest of a file, which is read again after it has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _parents(name: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(name).parents if parent.name]


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Write an entry without a date (it defaults to 1980)."""
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, compresslevel=1)


def _compiled(source: bytes, path: str) -> bytes | None:
    """Return the bytes of an unchecked .pyc file (PEP 552), or None if the source is not Python."""
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    unchecked = (1).to_bytes(4, "little")
    magic, digest = importlib.util.MAGIC_NUMBER, importlib.util.source_hash(source)
    return magic + unchecked + digest + marshal.dumps(code)


def _is_users(name: str) -> bool:
    """Return whether a top-level module is user code: outside the directories of installed packages."""
    module = sys.modules.get(name)
    own = (*ALWAYS, *_SPARKS_OWN, "__main__", "__mp_main__")
    if module is None or name in own or name in sys.stdlib_module_names:
        return False
    paths = _paths(module)
    return bool(paths) and not any(_is_installed(path) for path in paths)


def _paths(module: ModuleType) -> list[Path]:
    """Return the existing file of a module, or the existing directories of a package."""
    found: Iterable[str | None] = getattr(module, "__path__", None) or [_file_of(module)]
    return [path for name in found if name and (path := Path(name).absolute()).exists()]


def _file_of(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None)


def _is_installed(path: Path) -> bool:
    in_python = any(path.is_relative_to(directory) for directory in _installation())
    return in_python or not set(_NOT_CODE).isdisjoint(path.parts)


@cache
def _installation() -> frozenset[str]:
    """Return the directories of Python and of installed packages."""
    return frozenset(map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")))


def _in_package(name: str, directory: Path) -> Iterator[SourceFile]:
    for here, below, files in os.walk(directory):
        below[:] = sorted(d for d in below if not d.startswith(".") and d not in _NOT_CODE)
        folder = PurePosixPath(name, *Path(here).relative_to(directory).parts)
        for file in sorted(files):
            if file.endswith(".py"):
                yield SourceFile(f"{folder}/{file}", Path(here, file))


def _is_added(context: SparkContext, name: str) -> bool:
    files: str = context._jsc.sc().listFiles().mkString("\n")  # one call, not one for each file
    return any(file.rpartition("/")[2] == name for file in files.splitlines())


def check_exists(file: str) -> None:
    """Check that a file with code exists, if it is on this machine."""
    if "://" not in file and not Path(file).is_file():
        raise PipelineError(
            f"there is no file {file!r}",
            where="--py-files",
            remedy="list .py, .zip or .egg files, separated by commas",
        )


def _add_file(context: SparkContext, file: str) -> None:
    check_exists(file)
    if not _is_added(context, os.path.basename(file)):
        context.addPyFile(file)


def _add_for_workers_only(context: SparkContext, path: Path) -> None:
    """Add a zip file without adding it to the driver's path, which has the code already."""
    before = list(sys.path)
    try:
        context.addPyFile(str(path))
    finally:
        sys.path[:] = before


def archive_names(conf: SparkConf) -> list[str]:
    """Return the names of the directories in which Spark unpacks archives.

    >>> from pyspark import SparkConf
    >>> from headrace.runners.spark.cluster.code.packaging import archive_names
    >>> archive_names(SparkConf(False).set("spark.archives", "/tmp/job.zip#job,s3://b/env.tar.gz"))
    ['job', 'env.tar.gz']
    """
    listed = (conf.get(key, "") or "" for key in ("spark.archives", "spark.yarn.dist.archives"))
    archives = [archive for one in listed for archive in one.split(",") if archive]
    return [archive.rpartition("#")[2].rpartition("/")[2] for archive in archives]


def _extend_python_path(context: SparkContext) -> None:
    """Let the Python processes that Spark starts on the driver find the added files.

    A streaming query has two such processes: for its sources, and for the layout of its state. Spark tells
    workers, but not these processes, where the files are. Archives are unpacked in the directory in which a
    worker runs; modules and packages in them can be imported.
    """
    root = SparkFiles.getRootDirectory()
    newest_first = [os.path.join(root, name) for name in reversed(context._python_includes or ())]
    existing = context.environment.get("PYTHONPATH", "").split(os.pathsep)
    archives = [path for name in archive_names(context._conf) for path in (f"{root}/{name}", name)]
    paths = dict.fromkeys(path for path in [*newest_first, root, *existing, *archives] if path)
    context.environment["PYTHONPATH"] = os.pathsep.join(paths)
