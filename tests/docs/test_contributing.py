"""What contributors read is true: files that are named exist, and the change log has all fragments."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.doc_pages import ROOT, name
from tests.docs.test_commands import MAKE, command_lines, targets
from tests.docs.test_site import LINK, leads_somewhere, prose

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
FOR_CONTRIBUTORS = [
    CONTRIBUTING,
    ROOT / "RELEASING.md",
    ROOT / "SECURITY.md",
    ROOT / "changelog.d/README.md",
    ROOT / ".github/PULL_REQUEST_TEMPLATE.md",
]
FRAGMENT = re.compile(r"(\d+|\+[\w-]+)\.(feature|change|fix|removal)(\.\d+)?\.md")
ROW = re.compile(r"^\| (an? .+?|the .+?) \| (`.+`) \|$", re.MULTILINE)


def test_twelve_changes_touch_at_most_five_files_each() -> None:
    rows = {change: files.split(", ") for change, files in ROW.findall(CONTRIBUTING.read_text())}
    assert len(rows) == 12
    assert {change for change, files in rows.items() if len(files) > 5} <= {"a keyed operator"}


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
