"""ReadFromKafka: topics as a collection, bounded or unbounded, with Beam's argument names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Final

import attrs

from headrace.errors import PipelineError, UnsupportedError, shorten
from headrace.sdk.io.kafka.arrival_times import ArrivalTimes, SameTime, wall_micros
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.sdk.io.kafka.kafka_record import KafkaRecord, RecordForm, separated_records
from headrace.sdk.io.kafka.kafka_source import BoundedKafkaSource, KafkaSource, Topics
from headrace.sdk.io.kafka.offsets import EARLIEST, StartPoint, start_of
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.io.serdes.java_names import serde_of
from headrace.sdk.pardo.exception_handling import (
    Exceptions,
    Missing,
    check_exceptions,
    check_supported,
)
from headrace.sdk.pardo.transforms import Map
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Read
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.time.timestamps import TimestampTypes
from headrace.windowing.watermarks.policies import WatermarkPolicy

PRESENT_END: Final = "now"
"""The present end of the partitions, as the end of a read."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    "group_id": "headrace",
    "isolation_level": "read_committed",
    "fetch_wait_max_ms": 100,
    "queued_max_messages_kbytes": 16_384,
}
"""Settings of the client, unless others are given; ``_`` stands for a dot."""

_NEW_PARTITIONS_SECONDS: Final = 30.0
"""Seconds between two looks for new partitions, by default."""


class ReadFromKafka(PTransform[PBegin, PCollection[Any]]):
    """Reads topics of Kafka; needs ``headrace[kafka]``.

    Elements are pairs of key and value, with the time of the record as event time. Both runners read with
    the client confluent-kafka, on Spark in the workers. A partition is read from the offset in the
    checkpoint on; by default only committed transactions are seen. Each partition has its own watermark.

    Args:
        consumer_config: settings of the client, as librdkafka names them: ``bootstrap.servers`` is required,
            and TLS, SASL and all others are passed on. Secrets are never shown
            (:class:`~headrace.io.Secret`).
        topics: names of topics, or one name; or a compiled regular expression that matches whole names.
        key_deserializer: a serde, such as ``hr.io.StringSerde()``; also the names of Kafka's Java classes for
            bytes, text and numbers. Bytes by default.
        value_deserializer: the same for values.
        start_read_time: the time from which records are read, in milliseconds since 1970; or use ``start``.
        max_num_records: maximum number of present records to read; the collection is bounded.
        max_read_time: not supported.
        commit_offset_in_finalize: whether offsets are also committed for the group ``group.id``, after the
            results of a batch are written. The run itself does not read them.
        timestamp_policy: ``CreateTime`` or ``LogAppendTime``: the time of the record, which the topic's
            setting ``message.timestamp.type`` chooses. ``ProcessingTime``: the time at which it is read,
            which a checkpoint stores; the watermark then follows the clock. In a bounded collection it is
            the time at which the pipeline is built.
        consumer_polling_timeout: has no effect.
        with_metadata: whether elements are :class:`~headrace.io.KafkaRecord`, with topic, partition, offset,
            timestamp, headers, key and value.
        expansion_service: has no effect.
        redistribute: has no effect.
        redistribute_num_keys: has no effect.
        allow_duplicates: has no effect.
        dynamic_read_poll_interval_seconds: seconds between two looks for new partitions, which are read from
            their beginning; None for never.
        consumer_factory_fn_class: has no effect.
        consumer_factory_fn_params: has no effect.
        start: where partitions start: ``"earliest"``, ``"latest"``, a time, or offsets by
            ``(topic, partition)``; others start at their beginning. By default as ``auto.offset.reset``
            in the settings says, else at the beginning. A run with a checkpoint goes on from there.
        stop: ``"now"`` to end at the present ends of the partitions, or offsets by ``(topic, partition)``,
            which then are the partitions to read; the collection is bounded. None for no end.
        timestamp: a function of the element that gives its event time, instead of the time of the record.
        watermark: the watermark policy of each partition; needed for windows in an unbounded collection.

    Raises:
        PipelineError: an argument is not valid, or confluent-kafka is not installed.
        UnsupportedError: an argument of Beam is not supported.

    >>> p = Pipeline()
    >>> sales = p | hr.io.ReadFromKafka(
    ...     {"bootstrap.servers": "localhost:9092"},
    ...     "sales",
    ...     value_deserializer=hr.io.JsonSerde(),
    ...     watermark=BoundedOutOfOrderness(10, idle_timeout=60),
    ... )
    """

    byte_array_deserializer: ClassVar[str] = (
        "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    )
    """The deserializer for bytes, under Beam's name."""
    processing_time_policy: ClassVar[str] = "ProcessingTime"
    """The time at which the record is read."""
    create_time_policy: ClassVar[str] = "CreateTime"
    """The time of the record."""
    log_append_time: ClassVar[str] = "LogAppendTime"
    """The time of the record."""

    def __init__(
        self,
        consumer_config: Mapping[str, Any],
        topics: str | Iterable[str] | re.Pattern[str],
        key_deserializer: Serde | str = byte_array_deserializer,
        value_deserializer: Serde | str = byte_array_deserializer,
        start_read_time: int | None = None,
        max_num_records: int | None = None,
        max_read_time: int | None = None,
        commit_offset_in_finalize: bool = False,
        timestamp_policy: str = create_time_policy,
        consumer_polling_timeout: int = 2,
        with_metadata: bool = False,
        expansion_service: Any = None,
        redistribute: bool = False,
        redistribute_num_keys: int = 0,
        allow_duplicates: bool = False,
        dynamic_read_poll_interval_seconds: float | None = _NEW_PARTITIONS_SECONDS,
        consumer_factory_fn_class: str | None = None,
        consumer_factory_fn_params: Mapping[str, Any] | None = None,
        *,
        start: str | TimestampTypes | Mapping[tuple[str, int], int] | None = None,
        stop: str | Mapping[tuple[str, int], int] | None = None,
        timestamp: Callable[[Any], Any] | None = None,
        watermark: WatermarkPolicy | None = None,
    ) -> None:
        super().__init__()
        warn_of_ignored(
            "ReadFromKafka",
            consumer_polling_timeout=consumer_polling_timeout,
            expansion_service=expansion_service,
            redistribute=redistribute,
            redistribute_num_keys=redistribute_num_keys,
            allow_duplicates=allow_duplicates,
            consumer_factory_fn_class=consumer_factory_fn_class,
            consumer_factory_fn_params=consumer_factory_fn_params,
        )
        kafka()
        _refuse_time_limit(max_read_time)
        _check_policy(timestamp_policy, timestamp)
        settings = ClientSettings.of(consumer_config)
        self.form = RecordForm(
            serde_of(key_deserializer, "key_deserializer").for_keys(),
            serde_of(value_deserializer, "value_deserializer"),
            timestamp,
            with_metadata,
        )
        self._settings = settings.with_defaults(**_DEFAULTS)
        self._topics = _topics_of(topics)
        self._start = _start_of(start, start_read_time, settings)
        self._stop = None if stop is None or stop == PRESENT_END else _stop_of(stop)
        self._most = _most_of(max_num_records)
        self._bounded = stop is not None or max_num_records is not None
        self._interval = dynamic_read_poll_interval_seconds
        self._group = _group_of(settings) if commit_offset_in_finalize else ""
        self._watermark = watermark
        self._timed = start is not None or start_read_time is not None
        self._on_arrival = timestamp_policy == self.processing_time_policy
        self._after: tuple[str, ...] = ()

    def default_label(self) -> str:
        return f"ReadFromKafka({self._topics})"

    def display_data(self) -> dict[str, Any]:
        """Return the topics and the settings, without secrets."""
        return {"topics": str(self._topics), **self._settings.shown}

    def infer_output_type(self, input_type: object) -> Any:
        """Return the type of the elements: pairs, or records."""
        if self.form.with_metadata:
            return KafkaRecord
        return tuple[self.form.key.element_type, self.form.value.element_type]  # type: ignore[name-defined]

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        return self.reading(self.form).expand(pcoll)

    def reading(self, form: RecordForm) -> Read[Any]:
        """Return the transform that reads the records in a form."""
        read: Read[Any] = Read(self._readable(form), self._watermark)
        kind = Any if form.caught else self.infer_output_type(None)
        return read.with_output_types(kind)

    def _readable(self, form: RecordForm) -> Any:
        """Return the source of the records in a form, with or without an end."""
        if self._bounded and self._on_arrival:
            form = attrs.evolve(form, timestamp=SameTime(wall_micros()))
        source = self.source(form)
        if self._bounded:
            return BoundedKafkaSource(source, self._most, self._stop)
        return ArrivalTimes(source) if self._on_arrival else source

    def source(self, form: RecordForm | None = None) -> KafkaSource:
        """Return the source without an end."""
        return KafkaSource(
            self._settings,
            self._topics,
            form or self.form,
            self._start,
            self._interval,
            self._group,
            after=self._after,
        )

    def following(self, at: Any, after: tuple[str, ...]) -> ReadFromKafka:
        """Return a copy that starts at a point, and waits for other reads.

        Args:
            at: a time, or offsets by ``(topic, partition)``; a given start counts before a time, and if
                event times come from a function, a time is no start.
            after: the labels of the other reads.
        """
        read = copy(self)
        read._after = after
        by_record_time = not self._timed and self.form.timestamp is None
        if isinstance(at, Mapping) or by_record_time:
            read._start = start_of(at, "at")
        return read

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: Exceptions = Exception,
        **unsupported: Any,
    ) -> ReadWithDeadLetters:
        """Return the transform with a second output, for the records that cannot be deserialized.

        An element of this output is ``(record, (type of the exception, its repr, lines of its traceback))``.
        The record is a :class:`~headrace.io.KafkaRecord` with its key and value as bytes. Its event time is
        the time of the record; with a function for event times, the beginning of time. Errors of the
        connection, and of a schema registry that does not answer, stop the run as before.

        Args:
            main_tag: name of the output for the elements.
            dead_letter_tag: name of the output for bad records.
            exc_class: the exceptions to catch, one class or a tuple of classes.
            unsupported: other arguments of :meth:`headrace.Map.with_exception_handling`, which are
                supported only with their default values.

        Raises:
            UnsupportedError: an argument is not supported.
            PipelineError: an argument is not valid.

        >>> p = Pipeline()
        >>> good, bad = (
        ...     p
        ...     | hr.io.ReadFromKafka(
        ...         {"bootstrap.servers": "localhost:9092"},
        ...         "sales",
        ...         value_deserializer=hr.io.JsonSerde(),
        ...     ).with_exception_handling()
        ... )
        """
        check_supported(unsupported, _UNSUPPORTED)
        check_exceptions(exc_class)
        return ReadWithDeadLetters(self, main_tag, dead_letter_tag, exc_class)


_UNSUPPORTED: Final = {
    "partial": Missing(False, "remove it; a bad record has no outputs"),
    "threshold": Missing(1, "remove it, and count the dead letters"),
    "threshold_windowing": Missing(None, "remove it"),
    "on_failure_callback": Missing(None, "apply a function to the second output"),
}


class ReadWithDeadLetters(PTransform[PBegin, DoOutputsTuple]):
    """A read of topics with an additional output for the records that cannot be deserialized.

    Args:
        read: the transform.
        main_tag: name of the output for the elements.
        dead_letter_tag: name of the output for bad records.
        exc_class: the exceptions to catch.
    """

    def __init__(
        self, read: ReadFromKafka, main_tag: str, dead_letter_tag: str, exc_class: Exceptions
    ) -> None:
        super().__init__()
        self._transform = read
        self._tags = main_tag, dead_letter_tag
        self._caught = exc_class

    def following(self, at: Any, after: tuple[str, ...]) -> ReadWithDeadLetters:
        """Return a copy of this transform, as :meth:`ReadFromKafka.following` does."""
        return ReadWithDeadLetters(self._transform.following(at, after), *self._tags, self._caught)

    def default_label(self) -> str:
        return self._transform.label

    def expand(self, pcoll: PBegin) -> DoOutputsTuple:
        main, bad = self._tags
        form = attrs.evolve(self._transform.form, caught=self._caught)
        records = pcoll | "Read" >> self._transform.reading(form)
        kind = self._transform.infer_output_type(None)
        separate: Any = Map(separated_records, bad).with_output_types(kind)
        outputs: DoOutputsTuple = records | "Separate" >> separate.with_outputs(bad, main=main)
        return outputs


def _topics_of(topics: Any) -> Topics:
    if isinstance(topics, re.Pattern):
        return Topics(pattern=topics.pattern)
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise PipelineError(
            f"topics is {shorten(topics)}",
            remedy='use names of topics: ["sales"], or a pattern: re.compile("sales-.*")',
        )
    return Topics(tuple(dict.fromkeys(names)))


def _start_of(start: Any, start_read_time: int | None, settings: ClientSettings) -> StartPoint:
    if start is not None and start_read_time is not None:
        raise PipelineError("start and start_read_time are both given", remedy="use start")
    if start is not None:
        return start_of(start)
    if start_read_time is not None:
        return start_read_time
    return start_of(settings.get("auto.offset.reset", EARLIEST), "auto.offset.reset")


def _stop_of(stop: Any) -> Mapping[tuple[str, int], int]:
    if not isinstance(stop, Mapping):
        raise PipelineError(
            f"stop is {shorten(stop)}", remedy='use "now", or offsets by (topic, partition)'
        )
    found = start_of(stop, "stop")
    assert isinstance(found, Mapping)
    return found


def _most_of(records: int | None) -> int | None:
    if records is not None and (type(records) is not int or records < 1):
        raise PipelineError(f"max_num_records is {shorten(records)}", remedy="use 1 or more")
    return records


def _group_of(settings: ClientSettings) -> str:
    group = settings.get("group.id")
    if not group:
        raise PipelineError(
            "offsets cannot be committed: consumer_config has no group.id",
            remedy="add group.id, or leave out commit_offset_in_finalize",
        )
    return str(group)


def _refuse_time_limit(max_read_time: int | None) -> None:
    if max_read_time is not None:
        raise UnsupportedError(
            "ReadFromKafka does not support max_read_time: what is read would depend on the speed",
            remedy='use stop="now" or max_num_records, or stop the run: '
            "result.wait_until_finish(duration) and result.cancel()",
        )


def _check_policy(policy: str, timestamp: Any) -> None:
    on_arrival = ReadFromKafka.processing_time_policy
    if policy == on_arrival and timestamp is not None:
        raise PipelineError(
            f"timestamp and timestamp_policy={on_arrival!r} are both given",
            remedy="remove one of them",
        )
    policies = (ReadFromKafka.create_time_policy, ReadFromKafka.log_append_time, on_arrival)
    if policy not in policies:
        raise PipelineError(
            f"timestamp_policy is {shorten(policy)}",
            remedy="use CreateTime, LogAppendTime or ProcessingTime, or a function: timestamp=",
        )
