"""The ledger of batches: a compacted topic with the number of the last batch of each run and step.

The number of a batch is a message of the same transaction as its messages. So a process that resumes a run
reads in the ledger, as a ``read_committed`` consumer, which batch was the last one to be committed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.sdk.io.kafka.message import Message

LEDGER_TOPIC: Final = "headrace-batches"
"""The name of the topic, by default."""

LEDGER_CONFIG: Final = {"cleanup.policy": "compact"}
"""Settings of a new ledger: without compaction it would grow, with deletion it would forget."""

READ_SECONDS: Final = 120.0
"""Seconds to wait for the end of the ledger, which open transactions of other runs can delay."""

NO_BATCH: Final = -1
"""Stands for the number of the last batch of a run that has written none."""


@attrs.frozen
class BatchLedger:
    """The entry of one step of a run.

    Args:
        topic: the topic.
        run: name of the run; it is not empty.
        step: label of the step.
    """

    topic: str
    run: str
    step: str

    @property
    def key(self) -> bytes:
        """The key of the entry.

        >>> BatchLedger("headrace-batches", "r", "Write").key
        b'["r", "Write"]'
        """
        return json.dumps([self.run, self.step]).encode()

    def entry(self, batch: int) -> Message:
        """Return the message that records a batch.

        >>> BatchLedger("headrace-batches", "r", "Write").entry(7).value
        b'{"batch": 7}'
        """
        return Message(self.topic, self.key, json.dumps({"batch": batch}).encode(), partition=0)

    def last(self, settings: ClientSettings) -> int:
        """Return the number of the last batch that was committed; -1 if there is none.

        The transaction of an earlier process must have ended, which ``init_transactions`` sees to.

        Args:
            settings: settings of a producer or a consumer.

        Raises:
            PipelineError: the ledger cannot be read.
        """
        with settings.errors(f"read the ledger {self.topic}"):
            # To a consumer of committed messages, the end is the first open transaction.
            with _consumer(settings, "read_uncommitted") as consumer:
                place = kafka().TopicPartition(self.topic, 0)
                _, end = consumer.get_watermark_offsets(place, READ_SECONDS, cached=False)
            with _consumer(settings, "read_committed") as consumer:
                return self._read(consumer, end)

    def _read(self, consumer: Any, end: int) -> int:
        """Return the number in the last entry before an offset."""
        module = kafka()
        consumer.assign([module.TopicPartition(self.topic, 0, module.OFFSET_BEGINNING)])
        last, at, patience = NO_BATCH, 0, time.monotonic() + READ_SECONDS
        while at < end:
            if time.monotonic() > patience:
                raise PipelineError(
                    f"the ledger {self.topic} cannot be read to its end, because a transaction of another "
                    "producer is open",
                    remedy="wait until it times out (transaction.timeout.ms), and resume the run",
                )
            for message in consumer.consume(1000, 0.1):
                at = _after(message)
                if message.error() is None and message.key() == self.key:
                    last = max(last, json.loads(message.value())["batch"])
        return last


_CONSUMER: Final = {
    "group.id": "headrace-ledger",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,
}

_CONNECTION: Final = ("bootstrap.servers", "security.", "sasl.", "ssl.", "client.", "socket.")
"""The beginnings of the names of the settings that all clients share."""


@contextmanager
def _consumer(settings: ClientSettings, isolation: str) -> Iterator[Any]:
    given = {**_connection(settings), **_CONSUMER, "isolation.level": isolation}
    consumer = kafka().Consumer(given)
    try:
        yield consumer
    finally:
        consumer.close()


def _connection(settings: ClientSettings) -> dict[str, Any]:
    return {
        name: value for name, value in settings.resolved().items() if name.startswith(_CONNECTION)
    }


def _after(message: Any) -> int:
    """Return the offset after a message, or the one at which the partition ends at present."""
    error = message.error()
    if error is None:
        return int(message.offset()) + 1
    module = kafka()
    codes = module.KafkaError
    if error.code() == codes._PARTITION_EOF:
        return int(message.offset())
    if error.retriable() or error.code() in (codes._TRANSPORT, codes._ALL_BROKERS_DOWN):
        return 0  # the client tries again
    raise module.KafkaException(error)
