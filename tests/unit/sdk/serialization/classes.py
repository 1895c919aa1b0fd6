"""Classes of records, and the same classes as later versions of a program define them."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any, NamedTuple

import attrs

from headrace.coders import Coder


class Kind(Enum):
    """A kind of sale."""

    CASH = "cash"
    CARD = "card"


class Pair(NamedTuple):
    """A named tuple."""

    item: str
    price: int


class LaterPair(NamedTuple):
    """With two fields more, one of them between the others."""

    item: str
    currency: str = "EUR"
    price: int = 0
    note: str | None = None


@dataclasses.dataclass
class Plain:
    """A dataclass."""

    item: str
    price: int


@dataclasses.dataclass
class LaterPlain:
    """With fields more."""

    item: str
    price: int
    currency: str = "EUR"
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    """A frozen dataclass with slots, whose state is a list."""

    item: str
    price: int


@dataclasses.dataclass(frozen=True, slots=True)
class LaterSlots:
    """With a field more in front."""

    currency: str = "EUR"
    item: str = ""
    price: int = 0


@attrs.frozen
class Attrs:
    """An attrs class, with slots."""

    item: str
    price: int


@attrs.frozen
class LaterAttrs:
    """With fields more, one of them made of the others."""

    item: str
    price: int
    currency: str = "EUR"
    double: int = attrs.field(default=attrs.Factory(lambda self: 2 * 7, takes_self=True))


@attrs.define(slots=False)
class Dict:
    """An attrs class without slots."""

    item: str
    price: int


@attrs.define(slots=False)
class LaterDict:
    """With fields more."""

    item: str
    price: int
    tags: list[str] = attrs.field(factory=list)


@attrs.frozen
class Required:
    """With a field more that has no default."""

    item: str
    price: int
    currency: str


@attrs.frozen
class Fewer:
    """With a field less."""

    item: str


class Own:
    """A class without fields."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Own({self.text!r})"


class OwnCoder(Coder):
    """The coder of such values."""

    def encode(self, value: Any) -> bytes:
        return b"own " + value.text.encode()

    def decode(self, encoded: bytes) -> Any:
        return Own(encoded.removeprefix(b"own ").decode())


class Forgetful(OwnCoder):
    """A coder that loses the case of letters."""

    def encode(self, value: Any) -> bytes:
        return super().encode(value).lower()


class Failing(OwnCoder):
    """A coder that cannot encode."""

    def encode(self, value: Any) -> bytes:
        raise ValueError("no ink")


class Later(Own):
    """The class under another name, and moved."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and self.text == other.text

    __hash__ = Own.__hash__


class LaterCoder(OwnCoder):
    """The coder of the later class."""

    def decode(self, encoded: bytes) -> Any:
        return Later(super().decode(encoded).text)
