"""Beam's transforms of Kafka, whose expansion is in Java, as ours: they need no Java."""

from __future__ import annotations

from typing import Any, Final

from apache_beam.io import kafka as beam_kafka
from apache_beam.typehints import typehints
from apache_beam.typehints.row_type import RowTypeConstraint

from headrace.errors import UnsupportedError
from headrace.sdk.beam.programs.options import HeadraceOptions
from headrace.sdk.beam.programs.sources.idle_clock import IdleClock
from headrace.sdk.beam.programs.sources.java_settings import consumer_settings, producer_settings
from headrace.sdk.beam.programs.sources.kafka_rows import KafkaRow, RowForm
from headrace.sdk.beam.programs.sources.known import Known, arguments_of
from headrace.sdk.io.kafka.read_from_kafka import ReadFromKafka
from headrace.sdk.io.kafka.write_to_kafka import WriteToKafka
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.io.serdes.java_names import serde_of
from headrace.windowing.time.timestamps import MICROS_PER_SECOND
from headrace.windowing.watermarks.policies import Monotonic, WatermarkPolicy

_KEY, _VALUE = "key_deserializer", "value_deserializer"

_READ_ARGUMENTS: Final = (
    "start_read_time",
    "max_num_records",
    "max_read_time",
    "commit_offset_in_finalize",
    "timestamp_policy",
    "dynamic_read_poll_interval_seconds",
)
"""The arguments that Beam and we have, with the same meaning."""


def known_read(transform: Any, options: Any) -> Known:
    """Return a read of Beam as ours.

    Args:
        transform: Beam's ReadFromKafka.
        options: Beam's options.

    Raises:
        PipelineError: an argument is not valid.
        UnsupportedError: an argument is not supported.
    """
    given = arguments_of(transform)
    _refuse_java_consumers(given)
    key, value = serde_of(given[_KEY], _KEY), serde_of(given[_VALUE], _VALUE)
    with_rows = transform._urn == beam_kafka.ReadFromKafka.URN_WITH_METADATA
    if with_rows:
        _require_bytes(given)
    bounded = given["max_num_records"] is not None
    on_arrival = given["timestamp_policy"] == ReadFromKafka.processing_time_policy
    own = ReadFromKafka(
        consumer_settings(given["consumer_config"], transform.label),
        given["topics"],
        key,
        value,
        watermark=None if on_arrival or bounded else _policy(options),
        **{name: given[name] for name in _READ_ARGUMENTS},
    )
    form = RowForm(key, value, with_metadata=True) if with_rows else own.form
    kind = RowTypeConstraint.from_user_type(KafkaRow) if with_rows else _pair_type(key, value)
    reading = own.reading(form).with_output_types(Any)
    return Known(reading, kind, bounded, bool(given["redistribute"]))


def known_write(transform: Any, options: Any) -> Known:
    """Return a write of Beam as ours.

    Args:
        transform: Beam's WriteToKafka.
        options: Beam's options.

    Raises:
        PipelineError: an argument is not valid.
    """
    given = arguments_of(transform)
    own = WriteToKafka(
        producer_settings(given["producer_config"]),
        given["topic"],
        given["key_serializer"],
        given["value_serializer"],
        with_headers=transform._urn == beam_kafka.WriteToKafka.URN_WITH_HEADERS,
    )
    return Known(own, None)


def _refuse_java_consumers(given: dict[str, Any]) -> None:
    if given["consumer_factory_fn_class"] is not None:
        raise UnsupportedError(
            f"consumer_factory_fn_class is the Java class {given['consumer_factory_fn_class']}, and topics "
            "are read without Java",
            remedy="remove it, and give its settings in consumer_config, as librdkafka names them",
        )


def _require_bytes(given: dict[str, Any]) -> None:
    """Refuse other deserializers where the rows have bytes, as Beam does."""
    for argument in (_KEY, _VALUE):
        if given[argument] != ReadFromKafka.byte_array_deserializer:
            raise UnsupportedError(
                f"with_metadata=True and {argument} are both given: keys and values of these rows are bytes",
                remedy=f"remove {argument}, and decode the bytes with a beam.Map",
            )


def _pair_type(key: Serde, value: Serde) -> Any:
    """Return the type of the elements: pairs in which each part can be None."""
    optional: Any = typehints.Optional
    parts = optional[key.element_type], optional[value.element_type]
    pair: Any = typehints.Tuple[parts]
    return pair


def _policy(options: Any) -> WatermarkPolicy:
    """Return the watermark policy for the times of records."""
    seconds = options.view_as(HeadraceOptions).kafka_idle_seconds
    return IdleClock(round(seconds * MICROS_PER_SECOND)) if seconds > 0 else Monotonic()
