"""Write the unreleased section of CHANGELOG.md, which towncrier builds from the fragments in changelog.d.

``--check`` only compares, and fails if the file is out of date. At a release, towncrier moves the fragments
below the marker, and the unreleased section becomes empty.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
MARKER = "<!-- towncrier release notes start -->\n"
"""Towncrier inserts each release below this line."""

INTRODUCTION = """\
# Changelog

All changes that users can notice, the newest first. `make changelog` writes the part under *Unreleased*
from the fragments in [changelog.d](changelog.d/README.md); do not edit it here.
"""


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    before = CHANGELOG.read_text() if CHANGELOG.exists() else MARKER
    wanted = with_unreleased(before, draft())
    if not check:
        CHANGELOG.write_text(wanted)
    elif wanted != before:
        print("CHANGELOG.md is out of date: run `make changelog`", file=sys.stderr)
        return 1
    return 0


def with_unreleased(changelog: str, unreleased: str) -> str:
    """Return the change log with a new unreleased section; the releases below the marker are kept.

    >>> with_unreleased(MARKER + "## 0.1.0\\n", "## Unreleased\\n").splitlines()[-3:]
    ['', '<!-- towncrier release notes start -->', '## 0.1.0']
    """
    _, _, released = changelog.partition(MARKER)
    parts = [INTRODUCTION, unreleased, MARKER + released]
    return "\n".join(part for part in parts if part)


def draft() -> str:
    """Return the unreleased section that towncrier builds; empty if there are no fragments."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version=Unreleased"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    _, heading, text = done.stdout.partition("## Unreleased")
    if not heading or "No significant changes." in text:
        return ""
    body = re.sub(r"\A[^\n]*", "", text).strip()
    return f"## Unreleased\n\n{body}\n"


if __name__ == "__main__":
    sys.exit(main())
