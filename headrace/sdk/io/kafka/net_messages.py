"""The messages of a batch with retractions: as a changelog, or as upserts with tombstones.

Both are computed from all messages of a batch, so it does not matter in which order they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias

from headrace.sdk.io.kafka.message import Message

Retractions: TypeAlias = Literal["changelog", "upsert"]
"""How retractions are written; None if they are refused."""

CHANGELOG: Final = "changelog"
UPSERT: Final = "upsert"

DIFF: Final = "diff"
"""Name of the header with the diff in a changelog."""


def messages_to_send(
    messages: Iterable[Message], diffs: Iterable[int], retractions: str | None
) -> list[Message]:
    """Return the messages of a batch in the order in which they are sent.

    Args:
        messages: the messages of all elements of the batch.
        diffs: +1 for an element, -1 for a retraction.
        retractions: how retractions are written.

    >>> old, new = Message("totals", b"quay", b"7"), Message("totals", b"quay", b"8")
    >>> [m.value for m in messages_to_send([new, old], [1, -1], "upsert")]
    [b'8']
    >>> [m.headers for m in messages_to_send([new, old], [1, -1], "changelog")]
    [(('diff', b'-1'),), (('diff', b'+1'),)]
    """
    if retractions == UPSERT:
        return list(_upserts(messages, diffs))
    if retractions == CHANGELOG:
        return _changelog(messages, diffs)
    return list(messages)


def _changelog(messages: Iterable[Message], diffs: Iterable[int]) -> list[Message]:
    """Return net changes, retractions first."""
    counts, samples = _counted(messages, diffs, _whole)
    added = [samples[key] for key, count in counts.items() for _ in range(count)]
    removed = [samples[key] for key, count in counts.items() for _ in range(-count)]
    return [_with_diff(m, b"-1") for m in removed] + [_with_diff(m, b"+1") for m in added]


def _upserts(messages: Iterable[Message], diffs: Iterable[int]) -> Iterable[Message]:
    """Return one message for each key that changes: its last value, or a tombstone."""
    counts, samples = _counted(messages, diffs, _timeless)
    latest: dict[tuple[Any, ...], Message] = {}
    for identity, count in counts.items():
        message = samples[identity]
        place = message.topic, message.key, message.partition
        if count > 0:
            latest.pop(place, None)
            latest[place] = message
        elif count < 0:
            latest.setdefault(place, message._replace(value=None, headers=()))
    return latest.values()


def _whole(message: Message) -> tuple[Any, ...]:
    """Return what a retraction and its value have in common in a changelog: all."""
    return message


def _timeless(message: Message) -> tuple[Any, ...]:
    """Return what makes messages equal as values of a key: all but the time."""
    return message[:5]


def _counted(
    messages: Iterable[Message],
    diffs: Iterable[int],
    identify: Callable[[Message], tuple[Any, ...]],
) -> tuple[dict[Any, int], dict[Any, Message]]:
    """Return the sums of the diffs of equal messages, in the order of the last one of each."""
    counts: dict[Any, int] = {}
    samples: dict[Any, Message] = {}
    for message, diff in zip(messages, diffs, strict=False):
        identity = identify(message)
        counts[identity] = counts.pop(identity, 0) + diff
        if diff > 0 or identity not in samples:
            samples[identity] = message
    return counts, samples


def _with_diff(message: Message, diff: bytes) -> Message:
    return message._replace(headers=(*message.headers, (DIFF, diff)))
