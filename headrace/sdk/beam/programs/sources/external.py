"""Transforms of other languages: those that we know stay whole, and the others are refused.

Beam asks a service to expand them when they are applied. No service is asked here: what it returns would run
in another language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from apache_beam.io import kafka as beam_kafka
from apache_beam.typehints import typehints

from headrace.errors import HeadraceError, UnsupportedError
from headrace.sdk.beam.programs.sources.kafka_transforms import known_read, known_write
from headrace.sdk.beam.programs.sources.known import Known

_KNOWN: Final[Mapping[type, Callable[[Any, Any], Known]]] = {
    beam_kafka.ReadFromKafka: known_read,
    beam_kafka.WriteToKafka: known_write,
}


def apply_external(transform: Any, pvalueish: Any, options: Any) -> Any:
    """Apply a transform of another language, and return its output.

    Args:
        transform: the transform.
        pvalueish: its input.
        options: Beam's options.

    Raises:
        UnsupportedError: it is not known, or has an argument that is not supported.
        PipelineError: an argument is not valid.
    """
    make = next((make for kind, make in _KNOWN.items() if isinstance(transform, kind)), None)
    if make is None:
        raise refused(transform, transform.label)
    node = pvalueish.pipeline._current_transform()
    try:
        node.transform = made = make(transform, options)
    except HeadraceError as error:
        error.where = error.where or node.full_label
        raise
    declared = transform.get_type_hints().simple_output_type(transform.label)
    made.kind = made.kind if declared in (None, typehints.Any) else declared
    return made.expand(pvalueish)


def refused(transform: Any, label: str) -> UnsupportedError:
    """Return the error for a transform that has no equivalent.

    Args:
        transform: the transform.
        label: its label.
    """
    urn = getattr(getattr(transform, "_proto", None), "urn", "") or getattr(transform, "_urn", "")
    name = f"{type(transform).__name__}{f' ({urn})' if urn else ''}"
    return UnsupportedError(
        f"{name} has no equivalent: it is a transform of another language, or of one runner only",
        where=label,
        remedy="use a transform that is written in Python",
    )
