"""Records of Kafka with metadata, as the rows that Beam's Java transform makes of them.

Annotations are evaluated here, since Beam reads the types of the fields.
"""

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import Any, Final, NamedTuple

import attrs
import numpy as np

from headrace.sdk.io.kafka.kafka_record import RecordColumns, RecordForm


class KafkaHeaderRow(NamedTuple):
    """A header.

    Attributes:
        key: its name.
        value: its bytes, or None.
    """

    key: str
    value: bytes | None


class KafkaRow(NamedTuple):
    """A record with its metadata; the fields have the names of Java.

    Attributes:
        topic: its topic.
        partition: number of its partition.
        offset: its offset.
        timestamp: its time in milliseconds since 1970; -1 if it has none.
        key: its key, or None.
        value: its value, or None.
        headers: its headers.
        timestampTypeId: number of the meaning of its time.
        timestampTypeName: name of the meaning of its time.
    """

    topic: str
    partition: np.int32
    offset: np.int64
    timestamp: np.int64
    key: bytes | None
    value: bytes | None
    headers: Sequence[KafkaHeaderRow] | None
    timestampTypeId: np.int32  # Beam's name
    timestampTypeName: str  # Beam's name


_TIME_TYPES: Final = ((-1, "NoTimestampType"), (0, "CreateTime"), (1, "LogAppendTime"))
"""The meanings of times in Java, by their numbers in librdkafka."""


@attrs.frozen
class RowForm(RecordForm):
    """Records become rows."""

    def elements(
        self, raw: RecordColumns, keys: Sequence[Any], values: Sequence[Any]
    ) -> Iterable[Any]:
        """Return rows."""
        headers = [list(starmap(KafkaHeaderRow, each or ())) for each in raw.headers]
        for number, each in enumerate(headers):
            yield KafkaRow(
                raw.topic,
                raw.partition,  # type: ignore[arg-type]  # Beam's numbers decode as int
                raw.offsets[number],  # type: ignore[arg-type]
                raw.millis[number],  # type: ignore[arg-type]
                keys[number],
                values[number],
                each,
                *_TIME_TYPES[raw.time_types[number]],  # type: ignore[arg-type]
            )
