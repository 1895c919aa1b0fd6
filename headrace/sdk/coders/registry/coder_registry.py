"""The registry of coders: how values of a class are written in the shuffle and in checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.kinds.row_coder import RowCoder
from headrace.sdk.coders.registry.coder_inference import coder_for
from headrace.sdk.coders.stored.fields import fields_of
from headrace.sdk.coders.stored.registered import register


class CoderRegistry:
    """The coders of classes.

    >>> import attrs
    >>> @attrs.frozen
    ... class Sale:
    ...     item: str
    ...     price: int
    >>> class SaleCoder(Coder):
    ...     def encode(self, value):
    ...         return f"{value.item} {value.price}".encode()
    ...
    ...     def decode(self, encoded):
    ...         item, price = encoded.decode().split(" ")
    ...         return Sale(item, int(price))
    >>> registry = CoderRegistry()
    >>> registry.register_coder(Sale, SaleCoder, name="sale")
    >>> registry.get_coder(Sale).encode(Sale("tea", 3))
    b'tea 3'
    """

    def __init__(self) -> None:
        self._coders: dict[object, type[Coder]] = {}
        self._fallback: Coder | None = None

    def register_coder(
        self,
        typehint_type: object,
        typehint_coder_class: type[Coder],
        *,
        name: str | None = None,
    ) -> None:
        """Register the coder of a class.

        Values of the class are written by the coder wherever they are stored or sent. Built-in types always
        have their own encoding there; for them, only :meth:`get_coder` returns the registered coder.

        Args:
            typehint_type: the class.
            typehint_coder_class: the class of the coder; RowCoder writes the fields of a named tuple, a
                dataclass or an attrs class.
            name: the name of the class in stored data; by default its module and name. A class that is
                renamed or moved needs the name that it had.

        Raises:
            TypeError: the coder is not a class of coders.
            PipelineError: RowCoder for a class without fields, or a name that another class has.
        """
        if not (isinstance(typehint_coder_class, type) and issubclass(typehint_coder_class, Coder)):
            raise TypeError(
                "Coder registration requires a coder class object. "
                f"Received {shorten(typehint_coder_class)} instead."
            )
        if isinstance(typehint_type, type) and typehint_type.__module__ != "builtins":
            _register(typehint_type, typehint_coder_class, name)
        self._coders[typehint_type] = typehint_coder_class

    def register_fallback_coder(self, fallback_coder: Coder) -> None:
        """Set the coder that :meth:`get_coder` returns for types without another one."""
        self._fallback = fallback_coder

    def get_coder(self, typehint: object) -> Coder:
        """Return the coder of a type: the registered one, or one that is made for the type.

        >>> CoderRegistry().get_coder(tuple[int, str])
        TupleCoder[VarIntCoder, StrUtf8Coder]
        """
        found = self._coders.get(typehint) if _is_hashable(typehint) else None
        if found is not None:
            return found.from_type_hint(typehint, self)
        return coder_for(typehint, self, self._fallback)

    def get_custom_type_coder_tuples(
        self, types: Iterable[object]
    ) -> list[tuple[Any, type[Coder]]]:
        """Return the types that have a registered coder, with its class."""
        return [(kind, self._coders[kind]) for kind in types if kind in self._coders]

    def verify_deterministic(self, key_coder: Coder, op_name: str, silent: bool = True) -> Coder:
        """Return a coder whose encodings of equal keys are equal.

        Raises:
            ValueError: the coder has no such form.
        """
        return (
            key_coder if key_coder.is_deterministic() else key_coder.as_deterministic_coder(op_name)
        )


def _register(kind: type, coder: type[Coder], name: str | None) -> None:
    by_fields = issubclass(coder, RowCoder)
    if by_fields and fields_of(kind) is None:
        raise PipelineError(
            f"RowCoder cannot write values of {kind.__name__}: it has no fields, or writes its values by "
            "itself",
            remedy="use a named tuple, a dataclass or an attrs class without __reduce__, __getstate__ and "
            "__setstate__, or define a coder",
        )
    register(kind, None if by_fields else coder.from_type_hint(kind, registry), name)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


registry: Final = CoderRegistry()
"""The registry of the process, under Beam's name."""
