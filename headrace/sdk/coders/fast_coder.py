"""FastCoder: a coder whose work is done by an implementation over streams, as Beam's programs write them."""

from __future__ import annotations

from typing import Any

from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.impls import CoderImpl


class FastCoder(Coder):
    """Base of coders that return an implementation from ``_create_impl``.

    >>> from headrace.coders import coder_impl
    >>> class Number(FastCoder):
    ...     def _create_impl(self):
    ...         return coder_impl.VarIntCoderImpl()
    >>> Number().decode(Number().encode(300))
    300
    """

    def _create_impl(self) -> CoderImpl:
        """Return the implementation; a subclass defines this."""
        raise NotImplementedError(f"{type(self).__name__} does not define _create_impl()")

    def get_impl(self) -> CoderImpl:
        """Return the implementation, which is made once."""
        impl: CoderImpl | None = vars(self).get("_impl")
        if impl is None:
            impl = self._impl = self._create_impl()
        return impl

    def encode(self, value: Any) -> bytes:
        return self.get_impl().encode(value)

    def decode(self, encoded: bytes) -> Any:
        return self.get_impl().decode(encoded)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_impl"}

    def __eq__(self, other: object) -> bool:
        """Compare the classes and the attributes, without the implementation."""
        return isinstance(other, FastCoder) and (type(self), self.__getstate__()) == (
            type(other),
            other.__getstate__(),
        )

    def __hash__(self) -> int:
        return hash(type(self))
