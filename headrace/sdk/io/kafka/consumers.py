"""Consumers of this process: one for each partition that a source reads, kept open between its reads.

A consumer is assigned its partition and never joins a group, so nothing is rebalanced: the runner decides
which process reads which offsets. Messages that were fetched too far wait for the next read.
"""

from __future__ import annotations

import atexit
import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.kafka.client import ClientSettings, kafka

MOST_CONSUMERS: Final = 32
"""Maximum number of open consumers of a process; the one that was not used for longest is closed."""

WAIT_SECONDS: Final = 0.1
"""Seconds to wait for a message before the connection is looked at again."""

STALL_SECONDS: Final = 60.0
"""Seconds without any message after which a read of messages that exist is an error."""

MOST_MESSAGES: Final = 10_000
"""Maximum number of messages that the client is asked for at once."""

FORCED: Final = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
}
"""Settings on which reading relies, whatever the user gives."""


@attrs.define
class PartitionConsumer:
    """A consumer of one partition.

    Args:
        settings: settings of the client.
        topic: the topic.
        partition: number of the partition.
    """

    settings: ClientSettings
    topic: str
    partition: int
    _client: Any = attrs.field(init=False)
    _at: int = attrs.field(default=-1, init=False)
    _ahead: list[Any] = attrs.field(factory=list, init=False)
    _owner: int = attrs.field(factory=os.getpid, init=False)

    @_client.default
    def _connected(self) -> Any:
        module = kafka()
        with self.settings.errors("connect"):
            return module.Consumer({**self.settings.resolved(), **FORCED})

    def take(self, start: int, limit: int, end: int) -> tuple[list[Any], int]:
        """Return messages, and the offset after them.

        Args:
            start: the offset of the first message, if there is one.
            limit: maximum number of messages.
            end: an offset that is known to exist, at which to stop.

        Raises:
            PipelineError: records were removed, or the brokers do not answer.
        """
        self._go_to(start)
        found: list[Any] = []
        patience = time.monotonic() + STALL_SECONDS
        while len(found) < limit and self._at < end:
            messages = self._next(min(limit - len(found), end - self._at, MOST_MESSAGES))
            if not messages:
                self._check_patience(patience)
                continue
            patience = time.monotonic() + STALL_SECONDS
            found += self._sorted_out(messages, end)
        # The end of the partition can be noticed beyond the given one.
        return found, max(min(self._at, end), start)

    def close(self) -> None:
        """Close the connection; nothing in a child that was forked, to which it does not belong."""
        if self._owner == os.getpid():
            self._client.close()

    def _go_to(self, start: int) -> None:
        if start == self._at:
            return
        place = kafka().TopicPartition(self.topic, self.partition, start)
        with self.settings.errors(f"read the topic {self.topic}"):
            self._client.assign([place])
        self._at, self._ahead = start, []

    def _next(self, most: int) -> list[Any]:
        """Return messages that are here; else wait for one."""
        if self._ahead:
            messages, self._ahead = self._ahead[:most], self._ahead[most:]
            return messages
        with self.settings.errors(f"read the topic {self.topic}"):
            found = self._client.consume(most, 0) or self._client.consume(1, WAIT_SECONDS)
        return list(found)

    def _sorted_out(self, messages: list[Any], end: int) -> list[Any]:
        """Return the messages before the end; keep the others, and note how far that is."""
        if any(map(type(messages[0]).error, messages)):
            return self._with_events(messages, end)
        last = messages[-1].offset()
        if last >= end:
            early = [message for message in messages if message.offset() < end]
            self._ahead = messages[len(early) :] + self._ahead
            self._at = end
            return early
        self._at = last + 1
        return messages

    def _with_events(self, messages: list[Any], end: int) -> list[Any]:
        """Return the messages of a chunk in which the client also tells of other things."""
        found: list[Any] = []
        for number, message in enumerate(messages):
            error = message.error()
            if error is not None:
                self._note(error, message)
            elif message.offset() >= end:
                self._ahead = messages[number:] + self._ahead
                self._at = end
                break
            else:
                found.append(message)
                self._at = message.offset() + 1
        return found

    def _note(self, error: Any, message: Any) -> None:
        """Note the end of the partition; ignore what the client will try again; raise other errors."""
        codes = kafka().KafkaError
        if error.code() == codes._PARTITION_EOF:
            self._at = max(self._at, message.offset())
            return
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            raise removed_records(self.topic, self.partition, self._at)
        if error.retriable() or error.code() in (codes._TRANSPORT, codes._ALL_BROKERS_DOWN):
            return
        raise PipelineError(
            f"the Kafka client cannot read the topic {self.topic}, partition {self.partition}, "
            f"offset {self._at}: {self.settings.scrubbed(error.str())}",
            remedy="correct the cause, and resume the run: nothing is lost",
        )

    def _check_patience(self, patience: float) -> None:
        if time.monotonic() > patience:
            raise PipelineError(
                f"the brokers {self.settings.servers} have sent nothing of the topic {self.topic}, partition "
                f"{self.partition}, from offset {self._at} on for {STALL_SECONDS:g} seconds",
                remedy="check the brokers and the connection, and resume the run: nothing is lost",
            )


def removed_records(topic: str, partition: int, offset: int) -> PipelineError:
    """Return the error for an offset that a partition does not have."""
    return PipelineError(
        f"the offset {offset} of the topic {topic}, partition {partition}, does not exist: its records were "
        "removed (the topic's retention), or the topic was made anew",
        remedy="to go on without these records, start with a new checkpoint and start= at an offset that "
        "exists; keep records longer than a run can be interrupted (retention.ms)",
    )


_OPEN: Final[OrderedDict[tuple[str, str, int], PartitionConsumer]] = OrderedDict()
"""A cache: the open consumers of this process, by source, topic and partition, in order of use."""


def consumer_of(
    owner: str, settings: ClientSettings, topic: str, partition: int
) -> PartitionConsumer:
    """Return the consumer of a partition in this process; a new one if there is none.

    Args:
        owner: the id of the source.
        settings: settings of the client.
        topic: the topic.
        partition: number of the partition.
    """
    key = owner, topic, partition
    found = _OPEN.pop(key, None)
    if found is None or found._owner != os.getpid():
        found = PartitionConsumer(settings, topic, partition)
    _OPEN[key] = found
    while len(_OPEN) > MOST_CONSUMERS:
        _OPEN.popitem(last=False)[1].close()
    return found


def close_consumers(owner: str | None = None) -> None:
    """Close the consumers of a source in this process; of all sources by default."""
    for key in [key for key in _OPEN if owner in (None, key[0])]:
        _OPEN.pop(key).close()


def forget(owner: str, topic: str, partition: int) -> None:
    """Close a consumer after an error, so that the next read opens a new one."""
    found = _OPEN.pop((owner, topic, partition), None)
    if found is not None:
        found.close()


def open_consumers() -> Sequence[tuple[str, str, int]]:
    """Return the source, topic and partition of each open consumer."""
    return tuple(_OPEN)


atexit.register(close_consumers)
