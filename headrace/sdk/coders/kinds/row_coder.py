"""RowCoder: the coder of classes with fields."""

from __future__ import annotations

from typing import Any

from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.stored.data import dumps, loads
from headrace.sdk.elements.schemas import Schema, required_schema


class RowCoder(Coder):
    """Encodes values with named fields, in the format of stored data; the format is not Beam's.

    Registered for a class, it gives the class a name in stored data, which stays when the class is renamed.

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

    @classmethod
    def from_type_hint(cls, typehint: object, registry: object) -> Coder:
        return cls(typehint)

    def encode(self, value: Any) -> bytes:
        return dumps(value)

    def decode(self, encoded: bytes) -> Any:
        return loads(encoded)

    def is_deterministic(self) -> bool:
        return False

    def to_type_hint(self) -> Any:
        return Any if self.schema is None else self.schema.record
