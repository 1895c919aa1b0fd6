"""RowCoder and the registry of coders, for programs that declare the coders of classes as in Beam.

Values are pickled, and keys are compared by a fixed encoding, so a registered coder has no effect.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.sdk.coders import Coder, PickleCoder
from headrace.sdk.schemas import Schema, required_schema


class RowCoder(PickleCoder):
    """Encodes records of a schema by pickling them; the format is not Beam's.

    Args:
        schema: a class of records, or a Schema.

    Raises:
        PipelineError: the class has no named fields.

    >>> RowCoder(Schema(hr.Row, (("airport", str),))).decode(
    ...     RowCoder().encode(hr.Row(airport="EWR"))
    ... )
    Row(airport='EWR')
    """

    def __init__(self, schema: Any = None) -> None:
        self.schema: Schema | None = None if schema is None else required_schema(schema)


class CoderRegistry:
    """Accepts the coders of types, as in Beam, and does not use them.

    >>> registry = CoderRegistry()
    >>> registry.register_coder(complex, RowCoder)
    >>> type(registry.get_coder(complex)).__name__
    'PickleCoder'
    """

    def register_coder(self, typehint_type: Any, typehint_coder_class: type[Coder]) -> None:
        """Do nothing."""

    def get_coder(self, typehint: Any) -> Coder:
        """Return the coder of all types, which pickles values."""
        return PickleCoder()


registry: Final = CoderRegistry()
"""The registry under Beam's name."""
