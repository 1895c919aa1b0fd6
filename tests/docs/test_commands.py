"""Commands that the pages name exist: targets of make, programs, their flags, extras of the package."""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headrace.__main__ import add_package_arguments
from headrace.sdk.observing.packages import NEEDED
from headrace.sdk.options.pipeline_options import PipelineOptions
from tests.docs.doc_pages import PAGES, blocks, files, name
from tests.support.repository import ROOT

SHELL = ("sh", "console")

FLAG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")
MAKE = re.compile(r"`make ([a-z-]+)")
ADDED = re.compile(r'addoption\(\s*"(--[\w-]+)"')
EXTRA = re.compile(r"(?:headrace|\.)\[([a-z,]+)\]")

DOCTESTS = re.compile(r"^```pycon\n.*?^```$", re.MULTILINE | re.DOTALL)
"""Examples of docstrings, which may show a wrong flag."""

PLACEHOLDERS = {"my_pipeline.py", "job.py"}
"""Stand for the reader's own program."""

OF_SPARK_SUBMIT = {"--master", "--deploy-mode", "--archives", "--conf", "--name"}
OF_OTHERS = {"--draft", "--version", "--strict", "--user", "--shutdown", "--cluster", "--region"}
OF_OTHERS |= {"--python", "--appendonly", "--appendfsync"}
OF_OTHERS |= {"--headrace_runner", "--kafka_idle_seconds"}
OF_OTHERS |= {"--columns"}
"""Flags of tools around the project, of gcloud, of uv and of redis-server; those among Beam's options; and of
`make laws-runner`."""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_flag_is_one_that_a_program_takes(page: Path) -> None:
    said = set(FLAG.findall(DOCTESTS.sub("", page.read_text())))
    known = flags_of_programs() | flags_of_pytest() | flags_of_the_page(page)
    known |= OF_SPARK_SUBMIT | OF_OTHERS
    assert said - known == set()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_target_of_make_is_there(page: Path) -> None:
    said = set(MAKE.findall(page.read_text()))
    said |= {line.split()[1] for line in command_lines(page) if line.startswith("make ")}
    assert said - targets() == set()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_program_that_is_started_is_there(page: Path) -> None:
    written = {file.name for near in page.parent.glob("*.md") for file in files(near)}
    for line in command_lines(page):
        for word in shlex.split(line):
            if word.endswith(".py") and "=" not in word:
                ours = Path(word).name in PLACEHOLDERS
                assert ours or word in written or (ROOT / word).exists(), line


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_extra_is_one_of_the_package(page: Path) -> None:
    said = {extra for found in EXTRA.findall(page.read_text()) for extra in found.split(",")}
    assert said - set(project()["optional-dependencies"]) == set()


def test_the_readme_names_the_version_of_the_package() -> None:
    assert f"version {project()['version']} " in (ROOT / "README.md").read_text()


def test_the_table_of_extras_is_complete() -> None:
    text = (ROOT / "docs/index.md").read_text().partition("\n## Install\n")[2]
    section = text.partition("\nA flag selects the runner:")[0]
    of_users = re.findall(r"^\| `\.\[([a-z-]+)\]` \|", section, re.MULTILINE)
    of_us = re.search(r"The extras (.*?) are for work on Headrace itself", section, re.DOTALL)
    assert of_us is not None
    told = [*of_users, *re.findall(r"`([a-z-]+)`", of_us[1])]
    assert sorted(told) == sorted(project()["optional-dependencies"])


def test_the_extras_of_flags_are_those_that_the_pages_name() -> None:
    rows = {
        line.split("|")[1].strip(" `")[2:-1]: set(FLAG.findall(line))
        for line in (ROOT / "docs/index.md").read_text().splitlines()
        if line.startswith("| `.[")
    }
    for flag, (extra, _) in NEEDED.items():
        assert flag in rows[extra]


def command_lines(page: Path) -> Iterator[str]:
    """Yield the lines of a page's shell blocks that are commands."""
    for block in blocks(page):
        lines = block.text.replace("\\\n", " ").splitlines()
        if block.language == "sh":
            yield from filter(None, lines)
        elif block.language == "console":
            yield from (line[2:] for line in lines if line.startswith("$ "))


def flags_of_the_page(page: Path) -> set[str]:
    """Return the flags that a page's own code defines, in Beam's way."""
    return set(re.findall(r'add_(?:value_provider_)?argument\(\s*"(--[\w-]+)"', page.read_text()))


@cache
def flags_of_programs() -> frozenset[str]:
    """Return the flags that every pipeline takes, and those of the example and the tools."""
    pytest.importorskip("pyspark", reason="a benchmark imports it")
    import headrace.runners.spark.cluster.options  # noqa: F401  # flags are those of all classes of options

    def pipelines(parser: ArgumentParser) -> None:
        for kind in PipelineOptions.__subclasses__():
            if kind.__module__.startswith("headrace."):
                kind._add_argparse_args(parser)

    parsers = [
        _filled(pipelines),
        _filled(add_package_arguments),
        _parser_of("examples/flights.py"),
        _parser_of("examples.nexmark"),
        _parser_of("examples.gaming"),
        _parser_of("tools/kill_once.py"),
        _parser_of("benchmarks/spark.py"),
        _parser_of("benchmarks/local.py"),
        _parser_of("benchmarks.nexmark"),
    ]
    return frozenset(flag for parser in parsers for flag in parser._option_string_actions)


@cache
def flags_of_pytest() -> frozenset[str]:
    """Return the flags that plugins of this package add to pytest."""
    sources = (path.read_text() for path in (ROOT / "headrace").rglob("*.py"))
    return frozenset(flag for source in sources for flag in ADDED.findall(source))


@cache
def targets() -> frozenset[str]:
    """Return the targets of the Makefile."""
    return frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def project() -> dict[str, Any]:
    """Return what pyproject.toml says of the package."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def _filled(fill: Callable[[ArgumentParser], None]) -> ArgumentParser:
    parser = ArgumentParser(conflict_handler="resolve")
    fill(parser)
    return parser


class _Seen(Exception):
    """Carries the parser of a program that was about to parse."""


def _parser_of(program: str) -> ArgumentParser:
    """Return the parser of a program or package of the repository: the one that it is about to parse with."""

    def seen(parser: ArgumentParser, *_: Any) -> None:
        raise _Seen(parser)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentParser, "parse_args", seen)
        patch.setattr(ArgumentParser, "parse_known_args", seen)
        patch.syspath_prepend(str((ROOT / program).parent))
        patch.setattr("sys.argv", [program])
        try:
            if program.endswith(".py"):
                runpy.run_path(str(ROOT / program), run_name="__main__")
            else:
                runpy.run_module(program, run_name="__main__")
        except _Seen as found:
            parser: ArgumentParser = found.args[0]
            return parser
    raise AssertionError(f"{program} parses nothing")
