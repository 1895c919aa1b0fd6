"""WriteToKafka: a collection as messages, each batch one transaction, with Beam's argument names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.kafka.batch_ledger import LEDGER_TOPIC
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.sdk.io.kafka.kafka_sink import KafkaSink
from headrace.sdk.io.kafka.message import EVENT_TIME, EncodeMessages, MessageForm, TopicOf
from headrace.sdk.io.kafka.net_messages import CHANGELOG, UPSERT, Retractions
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.io.serdes.java_names import serde_of
from headrace.sdk.pardo.exception_handling import (
    Exceptions,
    Missing,
    check_exceptions,
    check_supported,
)
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.delivery import Delivery, check_sink_delivers
from headrace.sdk.sources.writing import Write
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored

_DEFAULTS: Final[dict[str, Any]] = {
    "partitioner": "murmur2_random",
    "linger_ms": 5,
    "message_max_bytes": 1_000_000,
}
"""Settings of the client, unless others are given; the partitioner is the one of Kafka's Java client."""

_OWN: Final = ("transactional.id", "enable.idempotence", "acks", "request.required.acks")
"""Settings on which the deliveries rely."""


class WriteToKafka(PTransform[PCollection[Any], PDone]):
    """Writes a collection to Kafka; needs ``headrace[kafka]``.

    Elements are pairs of key and value. Each batch is one transaction, which also contains the number of the
    batch, as a message in a compacted topic. So a run that resumes from its checkpoint skips a batch that was
    written before, and a consumer with ``isolation.level=read_committed`` sees each result once, and a batch
    as a whole. Workers encode the messages, and the process that runs the pipeline sends them.

    Args:
        producer_config: settings of the client, as librdkafka names them: ``bootstrap.servers`` is required,
            and TLS, SASL and others are passed on. Secrets are never shown (:class:`~headrace.io.Secret`).
        topic: the topic, or a function of the element that returns it.
        key_serializer: a serde, such as ``hr.io.StringSerde()``; also the names of Kafka's Java classes for
            bytes, text and numbers. Bytes by default. None if elements are values, without keys.
        value_serializer: the same for values. A value of None is a tombstone.
        with_headers: whether elements are records with the fields ``key`` and ``value``, and optionally
            ``headers`` (records with ``key`` and ``value``), ``topic``, ``partition`` and ``timestamp``, in
            milliseconds.
        expansion_service: has no effect.
        headers: a function of the element that returns headers: a mapping, or pairs, of names to bytes or
            text.
        partition: a function of the element that returns the number of its partition. By default a hash of
            the key, as in Kafka's Java client.
        timestamp: the time of the messages: ``"event"`` for the event time, or a function of the element;
            by default the time of sending. A topic removes messages by this time.
        retractions: how retractions are written. ``"changelog"``: each message has a header ``diff`` with +1
            or -1, the net changes of a batch, retractions first. ``"upsert"``: the last value of each key
            that changes in a batch, or a tombstone if it has none. By default a collection that can
            contain retractions is refused.
        delivery: exactly once by default. At least once uses no transactions and stores no numbers; at most
            once commits the number before the messages.
        create_topics: the number of partitions of topics that are created because they do not exist; by
            default a missing topic is an error.
        ledger_topic: name of the topic with the numbers of the batches; it is created if it does not exist.

    Raises:
        PipelineError: an argument is not valid, or confluent-kafka is not installed.

    >>> p = Pipeline()
    >>> totals = p | Create([("quay", 5), ("weir", 7)]) | CombinePerKey(sum)
    >>> _ = totals | hr.io.WriteToKafka(
    ...     {"bootstrap.servers": "localhost:9092"},
    ...     "totals",
    ...     key_serializer=hr.io.StringSerde(),
    ...     value_serializer=hr.io.JsonSerde(),
    ... )
    """

    byte_array_serializer: ClassVar[str] = (
        "org.apache.kafka.common.serialization.ByteArraySerializer"
    )
    """The serializer for bytes, under Beam's name."""

    def __init__(
        self,
        producer_config: Mapping[str, Any],
        topic: TopicOf,
        key_serializer: Serde | str | None = byte_array_serializer,
        value_serializer: Serde | str = byte_array_serializer,
        with_headers: bool = False,
        expansion_service: Any = None,
        *,
        headers: Callable[[Any], Any] | None = None,
        partition: Callable[[Any], int] | None = None,
        timestamp: Callable[[Any], Any] | str | None = None,
        retractions: Retractions | None = None,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
        create_topics: int | None = None,
        ledger_topic: str = LEDGER_TOPIC,
    ) -> None:
        super().__init__()
        warn_of_ignored("WriteToKafka", expansion_service=expansion_service)
        kafka()
        settings = _settings(producer_config)
        self._form = MessageForm(
            _checked_topic(topic),
            _key_serde(key_serializer, retractions),
            serde_of(value_serializer, "value_serializer"),
            headers,
            partition,
            _checked_time(timestamp),
            with_headers,
            retractions == UPSERT,
            int(settings.get("message.max.bytes")),
        )
        _check_rows(self._form)
        self._sink = KafkaSink(
            settings,
            topic if isinstance(topic, str) else "",
            _checked_retractions(retractions),
            _checked_partitions(create_topics),
            ledger_topic,
        )
        self._delivery = check_sink_delivers(self._sink, delivery)

    def default_label(self) -> str:
        return f"WriteToKafka({self._sink.topic or 'topics'})"

    def display_data(self) -> dict[str, Any]:
        """Return the topic and the settings, without secrets."""
        return {"topic": self._sink.topic or "by element", **self._sink.settings.shown}

    def expand(self, pcoll: PCollection[object]) -> PDone:
        self._check(pcoll)
        encoded = pcoll | "Encode" >> ParDo(EncodeMessages(self._form))
        done: PDone = encoded | "Send" >> self.send()
        return done

    def send(self) -> Write:
        """Return the step that writes encoded messages."""
        return Write(self._sink, delivery=self._delivery)

    def _check(self, pcoll: PCollection[object]) -> None:
        require_collection(pcoll)
        if pcoll.collection.changing and not self._sink.accepts_retractions:
            raise PipelineError(
                "the collection can contain retractions, and it was not chosen how WriteToKafka writes them",
                remedy=self._sink.retraction_remedy,
            )

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: Exceptions = Exception,
        **unsupported: Any,
    ) -> WriteWithDeadLetters:
        """Return the transform with an output: the elements that cannot be encoded or are too large.

        A dead letter is ``(element, (type of the exception, its repr, lines of its traceback))``. A message
        is too large if it has more than ``message.max.bytes`` of the settings, 1 million by default. Errors
        of the connection, and of a schema registry that does not answer, stop the run as before.

        Args:
            main_tag: has no effect: there is only one output.
            dead_letter_tag: name of the output.
            exc_class: the exceptions to catch, one class or a tuple of classes.
            unsupported: other arguments of :meth:`headrace.Map.with_exception_handling`, which are
                supported only with their default values.

        Raises:
            UnsupportedError: an argument is not supported.
            PipelineError: an argument is not valid.

        >>> p = Pipeline()
        >>> bad = (
        ...     p
        ...     | Create([(b"quay", b"5"), (b"weir", 7)])
        ...     | hr.io.WriteToKafka(
        ...         {"bootstrap.servers": "localhost:9092"}, "totals"
        ...     ).with_exception_handling()
        ... )
        """
        check_supported(unsupported, _UNSUPPORTED)
        check_exceptions(exc_class)
        return WriteWithDeadLetters(self, dead_letter_tag, exc_class)


_UNSUPPORTED: Final = {
    "partial": Missing(False, "remove it; an element is one message"),
    "threshold": Missing(1, "remove it, and count the dead letters"),
    "threshold_windowing": Missing(None, "remove it"),
    "on_failure_callback": Missing(None, "apply a function to the output"),
}


class WriteWithDeadLetters(PTransform[PCollection[Any], PCollection[Any]]):
    """A write to Kafka whose output is the elements that cannot be encoded or are too large.

    Args:
        write: the transform.
        tag: name of the output.
        exc_class: the exceptions to catch.
    """

    def __init__(self, write: WriteToKafka, tag: str, exc_class: Exceptions) -> None:
        super().__init__()
        self._transform, self._tag, self._caught = write, tag, exc_class

    def default_label(self) -> str:
        return self._transform.label

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        self._transform._check(pcoll)
        encode = EncodeMessages(self._transform._form, self._tag, self._caught)
        outputs = pcoll | "Encode" >> ParDo(encode).with_outputs(self._tag, main="encoded")
        _ = outputs["encoded"] | "Send" >> self._transform.send()
        bad: PCollection[Any] = outputs[self._tag]
        return bad


def _settings(config: Mapping[str, Any]) -> ClientSettings:
    settings = ClientSettings.of(config, "producer_config")
    for name in _OWN:
        if settings.get(name) is not None:
            raise PipelineError(
                f"producer_config has {name}, which follows from the delivery",
                remedy="remove it, and choose delivery=hr.io.Delivery.…",
            )
    return settings.with_defaults(**_DEFAULTS)


def _checked_topic(topic: Any) -> TopicOf:
    if (isinstance(topic, str) and topic) or callable(topic):
        return topic  # type: ignore[no-any-return]
    raise PipelineError(
        f"topic is {shorten(topic)}", remedy="use a name, or a function of the element"
    )


def _key_serde(serializer: Any, retractions: str | None) -> Serde | None:
    if serializer is not None:
        return serde_of(serializer, "key_serializer").for_keys()
    if retractions == UPSERT:
        raise PipelineError(
            'retractions="upsert" replaces values by key, but key_serializer is None',
            remedy="write pairs of key and value, and give a key_serializer",
        )
    return None


def _checked_time(timestamp: Any) -> Any:
    if timestamp is None or timestamp == EVENT_TIME or callable(timestamp):
        return timestamp
    raise PipelineError(
        f"timestamp is {shorten(timestamp)}", remedy='use "event", or a function of the element'
    )


def _check_rows(form: MessageForm) -> None:
    given = attrs.asdict(form, recurse=False)
    for name in ("headers", "partition", "timestamp"):
        if form.rows and given[name] is not None:
            raise PipelineError(
                f"{name} and with_headers=True are both given",
                remedy=f"remove one of them; with with_headers=True a record has a field {name}",
            )
    if form.rows and form.key is None:
        raise PipelineError(
            "key_serializer is None, but records with headers have a key",
            remedy="give a key_serializer; the key of a record can be None",
        )


def _checked_retractions(retractions: Any) -> Any:
    if retractions in (None, CHANGELOG, UPSERT):
        return retractions
    raise PipelineError(
        f"retractions is {shorten(retractions)}", remedy='use "changelog" or "upsert"'
    )


def _checked_partitions(partitions: Any) -> int:
    if partitions is None:
        return 0
    if type(partitions) is not int or partitions < 1:
        raise PipelineError(
            f"create_topics is {shorten(partitions)}", remedy="use the number of partitions, from 1"
        )
    return partitions
