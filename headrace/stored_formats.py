"""The formats of what a checkpoint stores: a number for each, raised when its shape changes.

:data:`HISTORY` has the numbers of each version that has changed one. A version is named after the issue that
it landed with: 0.1.0.dev28 is the state of the repository after issue 28, before the release 0.1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.errors import PipelineError

HISTORY: Final[Mapping[str, Mapping[str, int]]] = {
    "0.1.0.dev26": {
        "key state": 4,
        "stateful state": 2,
        "side input state": 2,
        "chunks": 4,
        "positions": 2,
        "data": 1,
        "manifest": 3,
        "lease": 1,
    },
    "0.1.0.dev27": {
        "key state": 5,
        "stateful state": 3,
        "side input state": 3,
        "chunks": 5,
        "positions": 3,
        "data": 2,
        "manifest": 4,
    },
    "0.1.0.dev28": {"manifest": 5},
    "0.1.0.dev29": {"restriction state": 1, "positions": 4},
}
"""The formats that each version has changed, by version, in order; the first one has all."""

OLDEST_READABLE: Final = "0.1.0.dev27"
"""The first version whose checkpoints this version reads."""

VERSION: Final = [*HISTORY][-1]
"""The first version whose formats are those of this version."""


def formats_of(version: str) -> dict[str, int]:
    """Return all formats of a version.

    Args:
        version: a version in :data:`HISTORY`.

    >>> formats_of("0.1.0.dev26")["manifest"]
    3
    """
    found: dict[str, int] = {}
    for each, changed in HISTORY.items():
        found.update(changed)
        if each == version:
            return found
    raise KeyError(version)


_CURRENT: Final = formats_of(VERSION)

KEY_STATE: Final = _CURRENT["key state"]
"""The state of a key in a grouping (:mod:`headrace.grouping.state.key_state`)."""

STATEFUL_STATE: Final = _CURRENT["stateful state"]
"""The state of a key of a stateful DoFn (:mod:`headrace.runners.stateful.stateful_keys`)."""

RESTRICTION_STATE: Final = _CURRENT["restriction state"]
"""The restrictions of a splittable DoFn (:mod:`headrace.runners.splittable.restriction_keys`)."""

SIDE_INPUT_STATE: Final = _CURRENT["side input state"]
"""The state of a node with side inputs (:mod:`headrace.runners.side_inputs.side_input_gate`)."""

CHUNKS: Final = _CURRENT["chunks"]
"""The chunks of a key group and their directories (:mod:`headrace.runners.spark.state.chunks`)."""

POSITIONS: Final = _CURRENT["positions"]
"""The positions of sources (:mod:`headrace.runners.sources.source_positions`)."""

DATA: Final = _CURRENT["data"]
"""How values are written in all of these (:mod:`headrace.sdk.coders.stored.data`)."""

MANIFEST: Final = _CURRENT["manifest"]
"""The description of the pipeline (:mod:`headrace.runners.spark.state.checkpoint_manifest`)."""

LEASE: Final = _CURRENT["lease"]
"""The lease of a run on its checkpoint (:mod:`headrace.runners.spark.state.lease_record`)."""

_VERSIONS: Final = [*HISTORY]

READABLE: Final[Mapping[str, range]] = {
    kind: range(formats_of(OLDEST_READABLE).get(kind, 1), number + 1)
    for kind, number in _CURRENT.items()
}
"""The numbers that this version reads, by kind."""


def check_format(what: str, found: object, kind: str, where: str = "", wrote: str = "") -> None:
    """Refuse what this version cannot read, and name the version that can.

    Args:
        what: what was stored.
        found: its format.
        kind: the kind of format, a key of :data:`READABLE`.
        where: where it is stored.
        wrote: the version that wrote it, if it is known.

    Raises:
        PipelineError: this version does not read the format.
    """
    if found in READABLE[kind]:
        return
    other = _reader(found, kind) or wrote
    raise PipelineError(
        f"{what} has format {found}{other and f', of Headrace {other}'}, but this version of Headrace "
        f"({VERSION}) reads {_listed(READABLE[kind])}",
        where=where,
        remedy=f"resume it with {f'Headrace {other}' if other else 'the version that wrote it'}, or start "
        "with a new checkpoint; to change to this version, drain the run with that one first",
    )


def _reader(number: object, kind: str) -> str:
    """Return the last version that writes a format; empty if it is not in the history."""
    return next((v for v in reversed(_VERSIONS) if formats_of(v)[kind] == number), "")


def _listed(numbers: range) -> str:
    first, last = numbers[0], numbers[-1]
    return f"format {last}" if first == last else f"formats {first} to {last}"
