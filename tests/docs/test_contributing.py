"""What contributors read is true: files that are named exist, and the change log has all fragments."""

from __future__ import annotations

import re
import subprocess
import sys
from inspect import isabstract
from pathlib import Path

import pytest

from headrace import triggers, windowing
from headrace.windowing import WindowFn
from tests.docs.doc_pages import name
from tests.docs.test_commands import MAKE, command_lines, targets
from tests.docs.test_site import LINK, leads_somewhere, prose
from tests.support.repository import ROOT


def is_a(base: type, thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, base)


CONTRIBUTING = ROOT / "CONTRIBUTING.md"
FOR_CONTRIBUTORS = [
    CONTRIBUTING,
    ROOT / "RELEASING.md",
    ROOT / "SECURITY.md",
    ROOT / "changelog.d/README.md",
    ROOT / ".github/PULL_REQUEST_TEMPLATE.md",
]
TRIGGERS = [
    name
    for name in triggers.__all__
    if name != "Trigger" and is_a(triggers.Trigger, getattr(triggers, name))
]
WINDOW_FNS = [
    name
    for name in windowing.__all__
    if is_a(WindowFn, getattr(windowing, name)) and not isabstract(getattr(windowing, name))
]
FRAGMENT = re.compile(r"(\d+|\+[\w-]+)\.(feature|change|fix|removal)(\.\d+)?\.md")
ROW = re.compile(r"^\| (an? .+?|the .+?) \| (`.+`) \| (?:`(\w+)`)? ?\|$", re.MULTILINE)
CHANGES = {
    change: ([path.strip("`") for path in files.split(", ")], model)
    for change, files, model in ROW.findall(CONTRIBUTING.read_text())
}
"""The files of each change, and the name with which they exist."""


def test_twelve_changes_touch_at_most_nine_files_each() -> None:
    assert len(CHANGES) == 12
    assert {c for c, (files, _) in CHANGES.items() if len(files) > 9} == {"a keyed operator"}


@pytest.mark.parametrize("change", CHANGES)
def test_the_files_of_a_change_exist_with_the_name_of_an_earlier_one(change: str) -> None:
    files, model = CHANGES[change]
    named = [path.replace("NAME", model) for path in files]
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert bool(model) == any("NAME" in path for path in files)


@pytest.mark.parametrize("path", ["sdk/testing/strategies/windowing.py"])
def test_the_kit_draws_every_trigger_and_window_function(path: str) -> None:
    text = (ROOT / "headrace" / path).read_text()
    assert [kind for kind in (*TRIGGERS, *WINDOW_FNS) if not re.search(rf"\b{kind}\b", text)] == []


@pytest.mark.parametrize("path", ["unit/triggers/expressions.py", "laws/oracle/translate.py"])
def test_the_tests_draw_every_trigger_and_the_oracle_has_it(path: str) -> None:
    text = (ROOT / "tests" / path).read_text()
    assert [kind for kind in TRIGGERS if not re.search(rf"\b{kind}\b", text)] == []


def test_files_that_contributors_are_told_to_touch_exist() -> None:
    named = set(
        re.findall(r"`((?:headrace|tests|docs|changelog\.d)/[^`]*)`", CONTRIBUTING.read_text())
    )
    assert len(named) > 20
    fixed = {path for path in named if "NAME" not in path}
    assert {path for path in fixed if not (ROOT / path).exists()} == set()
    folders = {path.partition("NAME")[0].rpartition("/")[0] for path in named - fixed}
    assert {folder for folder in folders if not (ROOT / folder).is_dir()} == set()


@pytest.mark.parametrize("page", FOR_CONTRIBUTORS, ids=name)
def test_links_and_targets_of_make_exist(page: Path) -> None:
    links = [link for link in LINK.findall(prose(page)) if "://" not in link]
    assert [link for link in links if not leads_somewhere(page, link)] == []
    named = set(MAKE.findall(page.read_text()))
    named |= {line.split()[1] for line in command_lines(page) if line.startswith("make ")}
    assert named - targets() == set()


def test_the_workflow_runs_targets_of_make() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    commands = re.findall(r"- run: (.+)", workflow)
    assert len(commands) > 3
    assert {command.removeprefix("make ") for command in commands} <= targets()


def test_the_change_log_is_made_of_the_fragments() -> None:
    command = [sys.executable, "tools/changelog.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_fragments_are_named_after_their_issue_and_kind() -> None:
    names = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    assert {name for name in names if not FRAGMENT.fullmatch(name)} == set()
