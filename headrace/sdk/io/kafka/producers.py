"""A producer: it sends the messages of a batch, in one transaction or in none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.sdk.io.kafka.message import Message

COMMIT_SECONDS: Final = 120.0
"""Seconds for the end of a transaction, in which brokers can restart."""

POLL_MESSAGES: Final = 1_000
"""Number of messages after which reports of the client are taken."""


class StaleProducerError(PipelineError):
    """Another process has taken over the transactions of this one, which writes nothing any more."""


class LostTransactionError(Exception):
    """A transaction failed for a cause that may have gone; the batch can be sent again.

    Args:
        text: what the client says.
        unknown: whether it may have been committed, which only the ledger tells.
    """

    def __init__(self, text: str, unknown: bool = False) -> None:
        super().__init__(text)
        self.unknown = unknown


@attrs.define(eq=False)
class MessageProducer:
    """A producer of this process.

    Args:
        settings: settings of the client.
        transactional_id: the id of its transactions; empty for a producer without transactions.
    """

    settings: ClientSettings
    transactional_id: str = ""
    _client: Any = attrs.field(default=None, init=False)
    _failed: list[tuple[Any, Message]] = attrs.field(factory=list, init=False)

    def open(self) -> None:
        """Connect; with transactions, fence earlier producers of this id and end what they left open."""
        given = {**self.settings.resolved(), "delivery.report.only.error": True}
        given["transactional.id" if self.transactional_id else "enable.idempotence"] = (
            self.transactional_id or True
        )
        with self.settings.errors("connect a producer"):
            self._client = kafka().Producer(given)
            if self.transactional_id:
                self._again(self._client.init_transactions)

    def send(self, messages: Iterable[Message]) -> None:
        """Send messages without a transaction, and wait until the brokers have them.

        Raises:
            ElementError: the brokers do not accept a message.
            PipelineError: messages could not be sent.
        """
        self._produce_or(self._forget, messages)

    def transact(self, messages: Iterable[Message]) -> None:
        """Send messages in one transaction, and commit it.

        Raises:
            ElementError: the brokers do not accept a message; the transaction is aborted.
            StaleProducerError: another process has taken over.
            LostTransactionError: the transaction was aborted, and can be tried again with a new producer.
        """
        self._produce_or(self._abort, messages)
        self._commit()

    def _produce_or(self, undo: Callable[[], None], messages: Iterable[Message]) -> None:
        """Produce messages; if that fails, undo it and raise the error."""
        try:
            if self.transactional_id:
                self._client.begin_transaction()
            self._produce(messages)
        except BaseException as error:
            undo()
            if isinstance(error, kafka().KafkaException):
                raise self._lost(error.args[0]) from None
            raise

    def _commit(self) -> None:
        try:
            self._again(self._client.commit_transaction)
        except kafka().KafkaException as error:
            certain = error.args[0].txn_requires_abort()
            self._abort()
            raise self._lost(error.args[0], unknown=not certain) from None

    def close(self) -> None:
        """Disconnect."""
        if self._client is not None:
            self._forget()
            self._client = None

    def _forget(self) -> None:
        """Remove what was not sent."""
        with suppress(kafka().KafkaException):  # after a fatal error it does nothing any more
            self._client.purge()
            self._serve(self._client.flush, 1)

    def _produce(self, messages: Iterable[Message]) -> None:
        self._failed = []
        for number, message in enumerate(messages):
            self._produce_one(message)
            if number % POLL_MESSAGES == 0:
                self._serve(self._client.poll, 0)
            if self._failed:
                break
        self._serve(self._client.flush, COMMIT_SECONDS)
        if self._failed:  # the brokers refuse messages together with those sent beside them
            raise self._refused(*max(self._failed, key=lambda failed: failed[1].size))
        if len(self._client):
            raise PipelineError(
                f"the brokers {self.settings.servers} have not taken the messages of a batch within "
                f"{COMMIT_SECONDS:g} seconds",
                remedy="check the brokers and the connection, and resume the run",
            )

    def _produce_one(self, message: Message) -> None:
        named: dict[str, Any] = {"partition": message.partition, "timestamp": message.millis}
        if message.headers:
            named["headers"] = list(message.headers)
        while True:
            try:
                self._client.produce(
                    message.topic,
                    message.value,
                    message.key,
                    on_delivery=partial(self._note, message),
                    **named,
                )
                return
            except BufferError:  # the queue of the client is full
                self._serve(self._client.poll, 0.1)
            except kafka().KafkaException as error:
                raise self._refused(error.args[0], message) from None

    def _serve(self, call: Callable[[float], object], seconds: float) -> None:
        """Call a method of the client in which it reports on messages.

        The client raises a fatal error in the middle of its reports, so that Python raises a SystemError.
        """
        try:
            call(seconds)
        except SystemError as error:
            if isinstance(error.__cause__, kafka().KafkaException):
                raise error.__cause__ from None
            raise

    def _note(self, message: Message, error: Any, _: object) -> None:
        """Take the report of the brokers on a message."""
        if error is not None:
            self._failed.append((error, message))

    def _refused(self, error: Any, message: Message) -> BaseException:
        """Return the error for a message that was not sent."""
        codes = kafka().KafkaError
        text = self.settings.scrubbed(error.str())
        if error.code() in (codes.MSG_SIZE_TOO_LARGE, codes.INVALID_MSG, codes.INVALID_RECORD):
            return ElementError(
                f"the topic {message.topic} does not accept the message with the key "
                f"{shorten(message.key)} and the value {shorten(message.value)} ({message.size} bytes): "
                f"{text}",
                remedy="set message.max.bytes in producer_config to the max.message.bytes of the topic, and "
                "set elements that are too large aside: WriteToKafka(…).with_exception_handling()",
            )
        if error.code() in (codes._UNKNOWN_PARTITION, codes.UNKNOWN_TOPIC_OR_PART):
            return ElementError(
                f"the topic {message.topic} has no partition {message.partition} for the message with the "
                f"key {shorten(message.key)}",
                remedy="correct the function that is given for partition",
            )
        return self._lost(error)

    def _lost(self, error: Any, unknown: bool = False) -> Exception:
        """Return the error for a transaction that was not committed."""
        codes = kafka().KafkaError
        fenced = (codes._FENCED, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_EPOCH)
        if error.code() in fenced:
            return StaleProducerError(
                "another process writes under the same run and step, or the transaction took longer than "
                "transaction.timeout.ms; this process has stopped writing",
                remedy="let only one process run with a checkpoint; or raise transaction.timeout.ms, and "
                "resume the run",
            )
        text = self.settings.scrubbed(error.str())
        return LostTransactionError(f"{error.name()}: {text}", unknown)

    def _abort(self) -> None:
        """Abort the transaction as far as possible; else the next producer of this id does it."""
        with suppress(kafka().KafkaException):
            self._client.purge()
            self._serve(self._client.abort_transaction, 10)

    def _again(self, call: Any) -> None:
        """Call a method of the client again as long as it asks for it."""
        end = time.monotonic() + COMMIT_SECONDS
        while True:
            try:
                self._serve(call, 10)
                return
            except kafka().KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > end:
                    raise


def missing_topics(settings: ClientSettings, topics: Iterable[str]) -> list[str]:
    """Return the topics that do not exist.

    Args:
        settings: settings of a client.
        topics: names of topics.
    """
    with settings.errors("list the topics"):
        admin = kafka("confluent_kafka.admin").AdminClient(_of_admin(settings))
        found = admin.list_topics(timeout=30).topics
    return [topic for topic in topics if topic not in found]


def create_topics(
    settings: ClientSettings, topics: Sequence[str], partitions: int, config: dict[str, str]
) -> None:
    """Create topics, unless another process has done so.

    Args:
        settings: settings of a client.
        topics: names of topics.
        partitions: number of their partitions.
        config: their settings.
    """
    module = kafka("confluent_kafka.admin")
    new = [module.NewTopic(t, partitions, config=config) for t in topics]
    with settings.errors(f"create the topics {', '.join(topics)}"):
        admin = module.AdminClient(_of_admin(settings))
        for future in admin.create_topics(new).values():
            _created(future)


def _created(future: Any) -> None:
    module = kafka()
    try:
        future.result(30)
    except module.KafkaException as error:
        if error.args[0].code() != module.KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _of_admin(settings: ClientSettings) -> dict[str, Any]:
    return {**settings.resolved(), "enable.idempotence": False}
