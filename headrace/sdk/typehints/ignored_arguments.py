"""Arguments that are accepted for the sake of Beam programs, and have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from headrace.errors import warn


@attrs.frozen
class Ignored:
    """An argument without an effect.

    Attributes:
        default: its default value, which causes no warning.
        reason: why it has no effect.
    """

    default: Any
    reason: str


_CLOCK: Final = Ignored(None, "the clock of the runner counts")
_READ_SIZES: Final = "the runner divides files into ranges"
_FASTAVRO: Final = Ignored(True, "Avro is always read and written with fastavro")
_BATCH_TIMES: Final = (
    "steps run one after another on whole bundles, so batches do not follow their times"
)

_JAVA: Final = Ignored(None, "Kafka is read with confluent-kafka, and not in Java")
_READ_PARTITIONS: Final = "an hr.Reshuffle() after the read distributes records over workers"

_READ: Final = {"min_bundle_size": Ignored(0, _READ_SIZES)}
_READ_ALL: Final = {**_READ, "desired_bundle_size": Ignored(0, _READ_SIZES)}

IGNORED: Final[Mapping[str, Mapping[str, Ignored]]] = {
    "Create": {"reshuffle": Ignored(True, "elements are always distributed over workers")},
    "TestStream": {"coder": Ignored(None, "elements stay in memory")},
    "GroupIntoBatches": {"clock": _CLOCK},
    "GroupIntoBatches.WithShardedKey": {"clock": _CLOCK},
    "BatchElements": {
        "target_batch_overhead": Ignored(0.05, _BATCH_TIMES),
        "target_batch_duration_secs": Ignored(10, _BATCH_TIMES),
        "target_batch_duration_secs_including_fixed_cost": Ignored(None, _BATCH_TIMES),
        "variance": Ignored(0.25, _BATCH_TIMES),
        "clock": Ignored(None, _BATCH_TIMES),
    },
    "ReadFromKafka": {
        "consumer_polling_timeout": Ignored(
            2, "a read takes the records that exist, and does not wait"
        ),
        "expansion_service": _JAVA,
        "redistribute": Ignored(False, _READ_PARTITIONS),
        "redistribute_num_keys": Ignored(0, _READ_PARTITIONS),
        "allow_duplicates": Ignored(False, "a record is read once"),
        "consumer_factory_fn_class": _JAVA,
        "consumer_factory_fn_params": _JAVA,
    },
    "ReadFromText": _READ,
    "ReadFromAvro": {**_READ, "use_fastavro": _FASTAVRO},
    "ReadAllFromText": _READ_ALL,
    "ReadAllFromParquet": _READ_ALL,
    "ReadAllFromParquetBatched": _READ_ALL,
    "ReadAllFromAvro": {**_READ_ALL, "use_fastavro": _FASTAVRO},
    "WriteToAvro": {
        "mime_type": Ignored("application/x-avro", "files have no MIME type"),
        "use_fastavro": _FASTAVRO,
    },
    "WriteToKafka": {"expansion_service": _JAVA},
    "WriteToFiles": {
        "output_fn": Ignored(None, "the outputs are always FileResults"),
        "max_writers_per_bundle": Ignored(20, "a worker writes one file at a time"),
    },
}
"""The arguments, by the name of the transform and their own."""


def warn_of_ignored(transform: str, **arguments: object) -> None:
    """Warn of arguments that have no effect, if they do not have their default values.

    As with all warnings of Python, each line of a program warns once.

    Args:
        transform: the name of the transform.
        arguments: all its arguments without an effect.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_of_ignored("Create", reshuffle=False)
    >>> print(seen[0].message)
    Create: the argument reshuffle has no effect: elements are always distributed over workers
    """
    for name, ignored in IGNORED[transform].items():
        if arguments[name] != ignored.default:
            warn(f"the argument {name} has no effect: {ignored.reason}", where=transform)
