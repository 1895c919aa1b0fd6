"""The sink of Kafka: each batch is one transaction, with the number of the batch in it.

Workers encode the messages; the process that runs the pipeline sends them. So the changes of a key meet
before they are sent, the transaction has the whole batch, and a batch that is written again is recognized
however its elements were divided among workers.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final
from uuid import uuid4

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.kafka.batch_ledger import LEDGER_CONFIG, NO_BATCH, BatchLedger
from headrace.sdk.io.kafka.client import ClientSettings
from headrace.sdk.io.kafka.message import Message
from headrace.sdk.io.kafka.net_messages import messages_to_send
from headrace.sdk.io.kafka.producers import (
    LostTransactionError,
    MessageProducer,
    create_topics,
    missing_topics,
)
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import Sink, SinkBatch

TRANSACTION_ATTEMPTS: Final = 3
"""Number of times that a transaction is tried, with a new producer each."""

_DELIVERIES: Final = (Delivery.EXACTLY_ONCE, Delivery.AT_LEAST_ONCE, Delivery.AT_MOST_ONCE)


@attrs.define(eq=False)
class KafkaSink(Sink):
    """Writes encoded messages; before the first batch it contains only plain data.

    Args:
        settings: settings of the client.
        topic: the topic; empty if elements choose it.
        retractions: how retractions are written; None if they are refused.
        partitions: number of partitions of topics that are created; 0 if a missing topic is an error.
        ledger_topic: name of the ledger of batches.
    """

    settings: ClientSettings
    topic: str
    retractions: str | None
    partitions: int
    ledger_topic: str
    _producer: MessageProducer | None = attrs.field(default=None, init=False)
    _ledger: BatchLedger | None = attrs.field(default=None, init=False)
    _last: int = attrs.field(default=NO_BATCH, init=False)
    _own_id: str = attrs.field(factory=lambda: uuid4().hex, init=False)
    _topics: set[str] = attrs.field(factory=set, init=False)

    delivery: ClassVar[Delivery] = Delivery.EXACTLY_ONCE
    deliveries: ClassVar[tuple[Delivery, ...]] = _DELIVERIES
    retraction_remedy: ClassVar[str] = (
        'choose retractions="changelog" for a header diff with +1 or -1, or retractions="upsert" for the '
        "last value of each key, and a tombstone when there is none"
    )

    @property
    def accepts_retractions(self) -> bool:  # type: ignore[override]
        """Whether it was chosen how retractions are written."""
        return self.retractions is not None

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The brokers and the topic."""
        return f"kafka://{self.settings.servers}/{self.topic}"

    def open(self) -> None:
        if self.topic:
            self._require([self.topic])

    def write(self, batch: SinkBatch) -> None:
        bundle = batch.bundle
        rows = (Message(*value) for value in bundle.values)
        messages = messages_to_send(rows, bundle.diffs, self.retractions)
        if messages:
            self._require({message.topic for message in messages})
            self._deliver(batch, messages)

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()

    def _deliver(self, batch: SinkBatch, messages: list[Message]) -> None:
        if batch.delivery is Delivery.AT_LEAST_ONCE:
            self._try(batch, self._send, messages)
            return
        if batch.delivery is Delivery.AT_MOST_ONCE:
            self._try(batch, self._record_first, messages)
            return
        self._try(batch, self._send_and_record, messages)

    def _try(self, batch: SinkBatch, send: Any, messages: list[Message]) -> None:
        """Send the messages of a batch, with a new producer if a transaction is lost."""
        lost: LostTransactionError | None = None
        for _ in range(TRANSACTION_ATTEMPTS):
            try:
                send(self._opened(batch), batch, messages)
                return
            except LostTransactionError as error:
                lost = error
                self._drop()
                if error.unknown and self._ledger is None:
                    break
            except BaseException:
                self._drop()
                raise
        raise PipelineError(
            f"the batch {batch.id} could not be sent to the brokers {self.settings.servers}: {lost}",
            remedy="check the brokers and their permissions, and resume the run",
        ) from None

    def _send(self, producer: MessageProducer, batch: SinkBatch, messages: list[Message]) -> None:
        producer.send(messages)

    def _send_and_record(
        self, producer: MessageProducer, batch: SinkBatch, messages: list[Message]
    ) -> None:
        if self._ledger is None:
            producer.transact(messages)
        elif batch.id > self._last:
            producer.transact([*messages, self._ledger.entry(batch.id)])
            self._last = batch.id

    def _record_first(
        self, producer: MessageProducer, batch: SinkBatch, messages: list[Message]
    ) -> None:
        if self._ledger is not None:
            if batch.id <= self._last:
                return
            producer.transact([self._ledger.entry(batch.id)])
            self._last = batch.id
        try:
            producer.transact(messages)
        except LostTransactionError as error:
            raise PipelineError(
                f"the batch {batch.id} was recorded, but its {len(messages)} messages could not be sent: "
                f"{error}",
                remedy="resume the run, which goes on with the next batch; or choose exactly once",
            ) from None

    def _opened(self, batch: SinkBatch) -> MessageProducer:
        """Return the producer; if it is new, learn which batch was committed last."""
        if self._producer is None:
            recorded = batch.delivery is not Delivery.AT_LEAST_ONCE
            self._ledger = self._ledger_of(batch) if recorded else None
            self._producer = producer = MessageProducer(self.settings, self._id(batch, recorded))
            producer.open()
            if self._ledger is not None:
                self._last = self._ledger.last(self.settings)
        return self._producer

    def _ledger_of(self, batch: SinkBatch) -> BatchLedger | None:
        if not batch.run:
            return None
        if missing_topics(self.settings, [self.ledger_topic]):
            create_topics(self.settings, [self.ledger_topic], 1, LEDGER_CONFIG)
        return BatchLedger(self.ledger_topic, batch.run, batch.step)

    def _id(self, batch: SinkBatch, transactional: bool) -> str:
        """Return the id of the transactions: a new process of the same run and step fences an old one."""
        if not transactional:
            return ""
        return f"headrace/{batch.run or self._own_id}/{batch.step}"

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _require(self, topics: Any) -> None:
        """Check that topics exist, or create them.

        Raises:
            PipelineError: a topic does not exist.
        """
        new = [topic for topic in topics if topic not in self._topics]
        missing = missing_topics(self.settings, new) if new else []
        if missing and not self.partitions:
            raise PipelineError(
                f"the topic {', '.join(missing)} does not exist at {self.settings.servers}",
                remedy="create it, or let WriteToKafka do it: create_topics=PARTITIONS",
            )
        if missing:
            create_topics(self.settings, missing, self.partitions, {})
        self._topics.update(new)
