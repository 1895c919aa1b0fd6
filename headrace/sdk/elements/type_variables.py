"""Type variables for elements, and types of elements as values, shared by all transforms.

The type of an unknown element is ``Any``: each variable has it as its default. The type of an input is also
bounded by ``Any``, so that a checker that does not know the input of a lambda accepts its body.

Defaults of type variables (PEP 696) need Python 3.13, so only type checkers see them here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias, TypeVarTuple

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    InputT = TypeVar("InputT", contravariant=True, default=Any)
    OutputT = TypeVar("OutputT", covariant=True, default=Any)
    InT = TypeVar("InT", bound=Any, default=Any)
    OutT = TypeVar("OutT", default=Any)
    TagT = TypeVar("TagT", default=Any)
    TaggedT = TypeVar("TaggedT", default=Any)
else:
    from typing import TypeVar

    InputT = TypeVar("InputT", contravariant=True)  # the input of a transform
    OutputT = TypeVar("OutputT", covariant=True)  # the output of a transform
    InT = TypeVar("InT")  # input elements
    OutT = TypeVar("OutT")  # output elements
    TagT = TypeVar("TagT")  # the tag of an output
    TaggedT = TypeVar("TaggedT")  # a value with a tag

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U_co = TypeVar("U_co", covariant=True)
KeyT = TypeVar("KeyT", bound=Any)
ValueT = TypeVar("ValueT", bound=Any)
LeftT = TypeVar("LeftT")
RightT = TypeVar("RightT")
ResultT = TypeVar("ResultT")
Items = TypeVarTuple("Items")
"""The items of a tuple."""

Rest = ParamSpec("Rest")
"""The arguments of a function after the element."""

TypeHint: TypeAlias = object
"""A type as a value: a class, a form such as ``list[int]``, or ``typing.Any``; there is no class of all."""

UNKNOWN_TYPE: Final[TypeHint] = Any
"""The type of elements of which nothing is known."""
