"""Closed state cells: using one outside a call for its key raises an error.

A cell belongs to a key and window. A DoFn that keeps one in an attribute would change the state of another
key than the one that it processes. Therefore a cell is closed after the calls for its key: it gets a class
whose methods raise an error. So an open cell costs nothing more.
"""

from __future__ import annotations

from typing import Final, NoReturn

from headrace.errors import PipelineError
from headrace.sdk.pardo.state.state_cells import StateCell

_INTERNAL: Final = ("is_empty", "freeze", "thaw", "converted")


def open_cell(cell: StateCell) -> None:
    """Make a cell usable.

    >>> cell = BagStateSpec("lines").new_cell()
    >>> close_cell(cell)
    >>> open_cell(cell)
    >>> cell.read()
    []
    """
    kind = _OPEN.get(type(cell))
    if kind is not None:
        cell.__class__ = kind


def close_cell(cell: StateCell) -> None:
    """Make it an error to use a cell; its value stays."""
    if type(cell) not in _OPEN:
        cell.__class__ = closed_class(type(cell))


def closed_class(kind: type[StateCell]) -> type[StateCell]:
    """Return a class for the closed cells of a kind; its methods for users raise an error."""
    if kind in _CLASSES:
        return _CLASSES[kind]
    users = {
        name
        for one in kind.__mro__[:-1]
        for name, value in vars(one).items()
        if _is_for_users(name, value)
    }
    closed = type(
        f"Closed{kind.__name__}", (kind,), {"__slots__": (), **dict.fromkeys(users, _refuse)}
    )
    _CLASSES[kind] = closed
    _OPEN[closed] = kind
    return closed


_CLASSES: Final[dict[type, type[StateCell]]] = {}
"""The class of the closed cells of each kind."""

_OPEN: Final[dict[type, type[StateCell]]] = {}
"""The kind of each class of closed cells."""


def _is_for_users(name: str, value: object) -> bool:
    public = name == "__contains__" or not name.startswith("_")
    return public and callable(value) and name not in _INTERNAL


def _refuse(cell: StateCell, *args: object, **kwargs: object) -> NoReturn:
    raise PipelineError(
        f"a {_OPEN[type(cell)].__name__} is used outside of the calls for its key",
        remedy="use the parameter of process or of a timer's method; do not keep it in an attribute",
    )
