"""The type variable for the records that a reader returns: rows, unless it is given another class.

It is not with the others, because rows need none of them, and because its default is a class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.sdk.elements.row import Row

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    RecordT = TypeVar("RecordT", default=Row)
    DictT = TypeVar("DictT", default=dict[str, Any])
else:
    from typing import TypeVar

    RecordT = TypeVar("RecordT")
    DictT = TypeVar("DictT")
