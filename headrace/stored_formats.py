"""The formats of what a checkpoint stores: a number for each, raised when its shape changes."""

from __future__ import annotations

from typing import Final

from headrace.errors import PipelineError

KEY_STATE: Final = 5
"""The state of a key in a grouping (:mod:`headrace.grouping.state.key_state`)."""

STATEFUL_STATE: Final = 3
"""The state of a key of a stateful DoFn (:mod:`headrace.runners.stateful.stateful_keys`)."""

SIDE_INPUT_STATE: Final = 3
"""The state of a node with side inputs (:mod:`headrace.runners.side_inputs.side_input_gate`)."""

CHUNKS: Final = 5
"""The chunks of a key group and their directories (:mod:`headrace.runners.spark.state.chunks`)."""

POSITIONS: Final = 3
"""The positions of sources (:mod:`headrace.runners.sources.source_positions`)."""

MANIFEST: Final = 4
"""The description of the pipeline (:mod:`headrace.runners.spark.state.checkpoint_manifest`)."""

LEASE: Final = 1
"""The lease of a run on its checkpoint (:mod:`headrace.runners.spark.state.lease_record`)."""


def check_format(what: str, found: object, expected: int, where: str = "") -> None:
    """Refuse what another version of Headrace has stored.

    Args:
        what: what was stored.
        found: its format.
        expected: the format that this version reads.
        where: where it is stored.

    Raises:
        PipelineError: the formats differ.
    """
    if found != expected:
        raise PipelineError(
            f"{what} has format {found}, but this version of Headrace reads format {expected}",
            where=where,
            remedy="resume it with the version that wrote it, or start with a new checkpoint",
        )
