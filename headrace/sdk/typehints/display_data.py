"""Display data: what a transform, a function or options tell about themselves, by name (Beam's names)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from headrace.errors import PipelineError, shorten


class HasDisplayData:
    """Something with display data; override :meth:`display_data`.

    >>> class Mill(HasDisplayData):
    ...     def display_data(self):
    ...         return {"wheels": 3}
    >>> DisplayData.create_from(Mill()).items
    [DisplayDataItem({"key": "wheels", "namespace": "...Mill", "type": "INTEGER", "value": 3})]
    """

    def display_data(self) -> dict[str, Any]:
        """Return the data by name: plain values, :class:`DisplayDataItem`, or objects with such data."""
        return {}


class DisplayDataItem:
    """A value of display data.

    Args:
        value: a string, a number, a truth value, a time, a duration or a class.
        url: a page about it.
        label: its name for readers.
        namespace: full name of the class that it describes; set by :class:`DisplayData`.
        key: its name; set by :class:`DisplayData`.
        shortValue: a shorter form of the value; of a class, the name without its module.

    >>> DisplayDataItem(timedelta(seconds=2), key="pause", namespace="Mill").get_dict()["value"]
    2000.0
    """

    typeDict: ClassVar[dict[type, str]] = {
        str: "STRING",
        int: "INTEGER",
        float: "FLOAT",
        bool: "BOOLEAN",
        timedelta: "DURATION",
        datetime: "TIMESTAMP",
    }
    """The names of the types of values."""

    def __init__(
        self,
        value: Any,
        url: str | None = None,
        label: str | None = None,
        namespace: str | None = None,
        key: str | None = None,
        shortValue: Any = None,
    ) -> None:
        self.value = value
        self.url = url
        self.label = label
        self.namespace = namespace
        self.key = key
        self.type = type_of_value(value)
        if shortValue is None and self.type == "CLASS":
            shortValue = value.__name__
        self.shortValue = shortValue
        self._dropped: list[object] = []

    def drop_if_none(self) -> DisplayDataItem:
        """Leave the item out if its value is None, and return it."""
        return self.drop_if_default(None)

    def drop_if_default(self, default: object) -> DisplayDataItem:
        """Leave the item out if it has this value, and return it."""
        self._dropped.append(default)
        return self

    def should_drop(self) -> bool:
        """Return whether to leave the item out."""
        return any(self.value is value or self.value == value for value in self._dropped)

    def is_valid(self) -> None:
        """Check the item.

        Raises:
            PipelineError: it has no key, namespace or value, or its value has no type of display data.
        """
        for name in ("key", "namespace", "value", "type"):
            if getattr(self, name) is None:
                raise PipelineError(
                    f"the display data {shorten(self.value)} has no {name}",
                    where=str(self.key or ""),
                    remedy="use a string, number, truth value, time, duration or class, under a name",
                )

    def get_dict(self) -> dict[str, Any]:
        """Return the parts of the item by name; a time or duration in milliseconds.

        Raises:
            PipelineError: the item is not valid (see :meth:`is_valid`).
        """
        self.is_valid()
        return self._parts()

    def _parts(self) -> dict[str, object]:
        shown = "STRING" if self.type == "CLASS" else self.type
        parts = {"key": self.key, "namespace": self.namespace, "type": shown}
        more = {"url": self.url, "shortValue": self.shortValue, "label": self.label}
        given = {name: value for name, value in more.items() if value is not None}
        return {**parts, **given, "value": _plain(self.value)}

    def __eq__(self, other: object) -> bool:
        """Compare all parts."""
        return isinstance(other, DisplayDataItem) and self._parts() == other._parts()

    def __hash__(self) -> int:
        """Return a hash of the name; values can be lists."""
        return hash((self.key, self.namespace))

    def __repr__(self) -> str:
        """Show the parts as JSON."""
        return f"DisplayDataItem({json.dumps(self._parts(), default=str)})"


class DisplayData:
    """The display data of something, as a list of items with its namespace.

    Args:
        namespace: full name of the class that the data describes.
        display_data_dict: the data by name.

    Attributes:
        items: the items, with the items of objects among the values; objects keep their own namespaces.

    >>> [item.value for item in DisplayData("Mill", {"wheels": 3, "stone": "hard"}).items]
    [3, 'hard']
    """

    def __init__(self, namespace: str, display_data_dict: Mapping[str, Any]) -> None:
        self.namespace = namespace
        self.items = list(_items(namespace, display_data_dict))

    @classmethod
    def create_from(
        cls, has_display_data: object, extra_items: Mapping[str, object] | None = None
    ) -> DisplayData:
        """Return the display data of an object.

        Args:
            has_display_data: the object, such as a transform, a DoFn or options.
            extra_items: more data by name.

        Raises:
            PipelineError: it is of a class without display data.
        """
        if not isinstance(has_display_data, HasDisplayData):
            raise PipelineError(
                f"{shorten(has_display_data)} has no display data",
                remedy="derive its class from HasDisplayData",
            )
        data = {**has_display_data.display_data(), **(extra_items or {})}
        return cls(_namespace(has_display_data), data)

    @classmethod
    def create_from_options(cls, pipeline_options: object) -> DisplayData:
        """Return the display data of options; a value without a type of display data becomes a string.

        Raises:
            PipelineError: it is not an object with options.
        """
        if not hasattr(pipeline_options, "get_all_options"):
            raise PipelineError(
                f"{shorten(pipeline_options)} has no options", remedy="pass PipelineOptions"
            )
        data = cls.create_from(pipeline_options)
        for item in data.items:
            if item.type is None:
                item.value, item.type = str(item.value), "STRING"
        return data


def type_of_value(value: object) -> str | None:
    """Return the type of a value of display data; None if it cannot be one.

    >>> type_of_value(3), type_of_value(int), type_of_value([3])
    ('INTEGER', 'CLASS', None)
    """
    if value is None:
        return "STRING"
    return "CLASS" if inspect.isclass(value) else DisplayDataItem.typeDict.get(type(value))


def _items(namespace: str, data: Mapping[str, object]) -> Iterator[DisplayDataItem]:
    for key, value in data.items():
        if isinstance(value, HasDisplayData):
            yield from DisplayData.create_from(value).items
        elif not isinstance(value, DisplayDataItem):
            yield DisplayDataItem(value, namespace=namespace, key=key)
        elif not value.should_drop():
            value.key, value.namespace = key, namespace
            yield value


def _namespace(described: object) -> str:
    return f"{type(described).__module__}.{type(described).__name__}"


def _plain(value: object) -> object:
    """Return a value as plain data."""
    if inspect.isclass(value):
        return f"{value.__module__}.{value.__name__}"
    if isinstance(value, timedelta):
        return value.total_seconds() * 1000
    if isinstance(value, datetime):
        known = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(known.timestamp() * 1000)
    return value
