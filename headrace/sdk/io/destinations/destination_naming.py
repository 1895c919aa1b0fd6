"""Names of the files that WriteToFiles writes: functions of window, pane, shard and destination (Beam's)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from headrace.errors import PipelineError
from headrace.triggers.pane import PaneInfo
from headrace.windowing.window import GLOBAL_WINDOW, BoundedWindow

Naming: TypeAlias = Callable[..., str]
"""A function of (window, pane, shard_index, total_shards, compression, destination)."""


@attrs.frozen
class PrefixNaming:
    """Names of the form ``prefix-start-end-pane-SSSSS-of-NNNNN.suffix.compression``.

    The window is left out if it is global, the pane if it is the only one of its window, and other parts if
    they are None.

    Args:
        prefix: the beginning; None for the destination.
        suffix: the end.
        shards: whether shards are numbered; otherwise there must be only one.

    >>> PrefixNaming("out", ".txt")(GLOBAL_WINDOW, None, 1, 5, "gz", None)
    'out-00001-of-00005.txt.gz'
    """

    prefix: str | None
    suffix: str | None = None
    shards: bool = True

    def __call__(
        self,
        window: BoundedWindow,
        pane: PaneInfo | None,
        shard_index: int | None,
        total_shards: int | None,
        compression: str | None,
        destination: Any,
    ) -> str:
        """Return the name of a file, relative to the path."""
        parts = [str(destination) if self.prefix is None else self.prefix]
        if window != GLOBAL_WINDOW:
            bounds = window.start, window.end
            parts += [bound.to_utc_datetime().isoformat() for bound in bounds]
        if pane is not None and not (pane.is_first and pane.is_last):
            parts.append(str(pane.index))
        if self.shards:
            parts += [] if shard_index is None else [f"{shard_index:05d}"]
            parts += [] if total_shards is None else [f"of-{total_shards:05d}"]
        elif total_shards not in (None, 1):
            raise PipelineError(
                f"single_file_naming does not number the {total_shards} shards of a file",
                remedy="remove shards, or use fileio.default_file_naming",
            )
        return "-".join(parts) + (self.suffix or "") + (f".{compression}" if compression else "")


def default_file_naming(prefix: str, suffix: str | None = None) -> Naming:
    """Return a naming with a prefix, the window, the pane if there are several, and the shard.

    Args:
        prefix: the beginning of the names.
        suffix: their end.

    >>> from headrace.io import fileio
    >>> fileio.default_file_naming("out", ".txt")(GLOBAL_WINDOW, None, 0, 1, None, None)
    'out-00000-of-00001.txt'
    """
    return PrefixNaming(prefix, suffix)


def destination_prefix_naming(suffix: str | None = None) -> Naming:
    """Return a naming that begins with the destination.

    Args:
        suffix: the end of the names.

    >>> from headrace.io import fileio
    >>> fileio.destination_prefix_naming(".txt")(GLOBAL_WINDOW, None, 0, 1, None, "odd")
    'odd-00000-of-00001.txt'
    """
    return PrefixNaming(None, suffix)


def single_file_naming(prefix: str, suffix: str | None = None) -> Naming:
    """Return a naming for one file per window and pane, without the number of the shard.

    Args:
        prefix: the beginning of the names.
        suffix: their end.

    >>> from headrace.io import fileio
    >>> fileio.single_file_naming("out", ".txt")(GLOBAL_WINDOW, None, 0, 1, None, None)
    'out.txt'
    """
    return PrefixNaming(prefix, suffix, shards=False)


def prefix_naming(prefix: str) -> Naming:
    """Return ``default_file_naming`` with a prefix.

    Args:
        prefix: the beginning of the names.

    >>> from headrace.io import fileio
    >>> fileio.prefix_naming("out")(GLOBAL_WINDOW, None, 0, 1, None, None)
    'out-00000-of-00001'
    """
    return PrefixNaming(prefix)
