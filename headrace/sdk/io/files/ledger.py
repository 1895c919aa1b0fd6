"""The ledger of a file sink: which files it has published, so that it deletes no other files.

It is in a hidden directory next to the files. ``commit.json`` is a write-ahead record of the last commit,
so that an interrupted commit can be completed. ``files`` lists all files of the run; the next run that
starts from the beginning deletes them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import attrs

from headrace.sdk.io.files.url_path import AnyPath, append_text, rename
from headrace.sdk.sources.sink import Commit


@attrs.frozen
class Ledger:
    """The record of the files that a sink has published.

    Args:
        directory: the hidden directory.

    >>> from pathlib import Path
    >>> Ledger(Path("no/such/directory")).stale(Commit(0, "", "", []), ["a.txt"])
    []
    """

    directory: AnyPath

    def stale(self, commit: Commit, files: Collection[str]) -> list[str]:
        """Return the files that an earlier run, or an earlier attempt of this commit, has left.

        Args:
            commit: the commit.
            files: names of the files that it will publish.
        """
        if starts_new_run(commit):
            return sorted(set(self._all()) - set(files))
        last = self._last()
        if last.get("batch") != _name(commit):
            return []
        return sorted({*last["files"], *last["stale"]} - set(files))

    def begin(self, commit: Commit, files: Iterable[str], stale: Iterable[str]) -> None:
        """Record what a commit will do."""
        self.directory.mkdir(parents=True, exist_ok=True)
        names = list(files)
        # The last line may be incomplete.
        append_text(self.directory / "files", "\n" + _lines(names))
        self._replace(
            "commit.json",
            json.dumps({"batch": _name(commit), "files": names, "stale": list(stale)}),
        )

    def end(self, commit: Commit, files: Iterable[str]) -> None:
        """Remove the files of earlier runs from the record, because they are deleted."""
        if starts_new_run(commit):
            self._replace("files", _lines(files))

    def _all(self) -> list[str]:
        """Return the names of all files; incomplete lines do not count."""
        try:
            lines = (self.directory / "files").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines if line.endswith('"') and len(line) > 1]

    def _last(self) -> dict[str, Any]:
        try:
            return json.loads((self.directory / "commit.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]
        except FileNotFoundError:
            return {}

    def _replace(self, name: str, text: str) -> None:
        """Write a file atomically."""
        new = self.directory / f"{name}.new"
        new.write_text(text, encoding="utf-8")
        rename(new, self.directory / name)


def starts_new_run(commit: Commit) -> bool:
    """Return whether a commit starts a run that replaces the files of earlier runs.

    This is true in batch mode, and for the first batch of a streaming run that cannot be resumed.

    >>> (
    ...     starts_new_run(Commit(0, "", "", [])),
    ...     starts_new_run(Commit(0, "r", "", [], streaming=True)),
    ... )
    (True, False)
    """
    return not commit.streaming or (commit.id == 0 and not commit.run)


def _name(commit: Commit) -> list[Any]:
    return [commit.run, commit.step, commit.id]


def _lines(names: Iterable[str]) -> str:
    return "".join(f"{json.dumps(name)}\n" for name in names)
