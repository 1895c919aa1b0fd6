"""The ledger of a file sink: which files it has put up, so that it takes away no others.

It lies in a hidden directory beside the files. ``commit.json`` says what the last commit was about to do
before it did it, so that a commit that was interrupted can be made good. ``files`` names all files of the
run; a later run that begins anew takes them away.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import attrs

from headrace.sdk.io.sink import Commit


@attrs.frozen
class Ledger:
    """What is known of the files of a sink.

    Args:
        home: the hidden directory.

    >>> Ledger(Path("no/such/directory")).stale(Commit(0, "", "", []), ["a.txt"])
    []
    """

    home: Path

    def stale(self, commit: Commit, files: Collection[str]) -> list[str]:
        """Return the files that an earlier run, or an earlier try of this commit, has left behind.

        Args:
            commit: the commit.
            files: names of the files that it is about to put up.
        """
        if begins_anew(commit):
            return sorted(set(self._all()) - set(files))
        last = self._last()
        if last.get("batch") != _name(commit):
            return []
        return sorted({*last["files"], *last["stale"]} - set(files))

    def begin(self, commit: Commit, files: Iterable[str], stale: Iterable[str]) -> None:
        """Write down what a commit is about to do."""
        self.home.mkdir(parents=True, exist_ok=True)
        names = list(files)
        with open(self.home / "files", "a", encoding="utf-8") as log:
            log.write("\n" + _lines(names))  # the last line may be one that was never finished
        self._replace(
            "commit.json",
            json.dumps({"batch": _name(commit), "files": names, "stale": list(stale)}),
        )

    def end(self, commit: Commit, files: Iterable[str]) -> None:
        """Forget the files of earlier runs, now that they are gone."""
        if begins_anew(commit):
            self._replace("files", _lines(files))

    def _all(self) -> list[str]:
        """Return the names of all files; a line that was never finished promised nothing."""
        try:
            lines = (self.home / "files").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines if line.endswith('"') and len(line) > 1]

    def _last(self) -> dict[str, Any]:
        try:
            return json.loads((self.home / "commit.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]
        except FileNotFoundError:
            return {}

    def _replace(self, name: str, text: str) -> None:
        """Write a file so that it is there as a whole or not at all."""
        new = self.home / f"{name}.new"
        new.write_text(text, encoding="utf-8")
        os.replace(new, self.home / name)


def begins_anew(commit: Commit) -> bool:
    """Tell whether a commit begins a run that owes nothing to the files of runs before.

    That is so in batch mode, and for the first batch of a streaming run that cannot be resumed.

    >>> begins_anew(Commit(0, "", "", [])), begins_anew(Commit(0, "r", "", [], streaming=True))
    (True, False)
    """
    return not commit.streaming or (commit.id == 0 and not commit.run)


def _name(commit: Commit) -> list[Any]:
    return [commit.run, commit.step, commit.id]


def _lines(names: Iterable[str]) -> str:
    return "".join(f"{json.dumps(name)}\n" for name in names)
