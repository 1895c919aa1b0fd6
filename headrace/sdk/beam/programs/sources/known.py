"""Transforms of other languages that run as ours, and what they have as arguments."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
from apache_beam import coders
from apache_beam.portability.api import external_transforms_pb2
from apache_beam.transforms.window import GlobalWindows

from headrace.sdk.pipelines.transform import PTransform


class Known(beam.PTransform[Any, Any]):
    """A transform of another language that runs as one of ours.

    It stands where the transform stood, has no parts, and can be pickled with the pipeline.

    Args:
        own: our transform.
        kind: Beam's type of the elements of the output; None if there is no output.
        bounded: whether the output is bounded.
        redistributes: whether the output is redistributed.
    """

    def __init__(
        self,
        own: PTransform[Any, Any],
        kind: Any,
        bounded: bool = False,
        redistributes: bool = False,
    ) -> None:
        super().__init__()
        self.own = own
        self.kind = kind
        self.bounded = bounded
        self.redistributes = redistributes

    def expand(self, input_or_inputs: Any) -> Any:
        """Return the output, which has no producer but this."""
        if self.kind is None:
            return {}
        return beam.pvalue.PCollection(
            input_or_inputs.pipeline, element_type=self.kind, is_bounded=self.bounded
        )

    def get_windowing(self, inputs: Any) -> Any:
        """Return the windowing of what is read: the global window."""
        return beam.Windowing(GlobalWindows())


def arguments_of(transform: Any) -> dict[str, Any]:
    """Return the arguments of a transform of another language, which it has encoded.

    Args:
        transform: a transform whose arguments are encoded as a row.
    """
    payload = external_transforms_pb2.ExternalConfigurationPayload.FromString(transform._payload)
    row = coders.RowCoder(payload.schema).decode(payload.payload)
    found: dict[str, Any] = row._asdict()
    return found
