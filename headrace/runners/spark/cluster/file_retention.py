"""When files of side inputs are deleted: when Spark can no longer return to a batch that needs them.

In each batch the key groups report the files that their state needs. A key group without a report has not
changed. So when each has reported once since the start of the run, the driver knows which files are needed.
Spark can return to a recent batch. So a file is deleted when no key group has needed it for as many batches
as Spark retains.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

import attrs

NeededFiles = tuple[int, Mapping[str, frozenset[str]]]
"""A key group, and the names of the files that each of its steps needs, by label."""


@attrs.define(eq=False)
class FileRetention:
    """The files of a run, for the driver.

    Args:
        directory: the directory of the files.
        states: the number of states that can need files: one for each step with side inputs and key group.
        batches: the number of batches that Spark retains.
    """

    directory: str
    states: int
    batches: int
    _needed: dict[tuple[str, int], frozenset[str]] = attrs.field(factory=dict, init=False)
    _unneeded_since: dict[str, int] = attrs.field(factory=dict, init=False)

    def note(self, batch: int, reports: Iterable[NeededFiles]) -> None:
        """Take the reports of a batch that has been processed, and delete what is not needed any more."""
        changed = False
        for group, by_label in reports:
            for label, names in by_label.items():
                self._needed[label, group] = names
                changed = True
        if len(self._needed) == self.states and (changed or self._unneeded_since):
            self._delete(batch)

    def _delete(self, batch: int) -> None:
        needed = frozenset[str]().union(*self._needed.values())
        unneeded = self._files() - needed
        self._unneeded_since = {name: self._unneeded_since.get(name, batch) for name in unneeded}
        for name, since in self._unneeded_since.items():
            if batch - since > self.batches:
                with suppress(OSError):  # the next batch tries again
                    os.unlink(os.path.join(self.directory, name))

    def _files(self) -> set[str]:
        with suppress(FileNotFoundError):
            return set(os.listdir(self.directory))
        return set()
