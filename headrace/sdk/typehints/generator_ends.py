"""Generator functions that do nothing more after they yield.

What such a function has yielded it cannot change. This is a fact of its code: each ``yield`` leads straight
to the end of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dis import Instruction, get_instructions
from inspect import unwrap
from typing import Final

_NOTHING: Final = frozenset({"RESUME", "POP_TOP", "NOP", "CACHE", "LOAD_CONST", "EXTENDED_ARG"})
"""Instructions that change no value."""

_ENDS: Final = frozenset({"RETURN_VALUE", "RETURN_CONST"})

_JUMPS: Final = frozenset({"JUMP_FORWARD"})


def ends_with_yield(function: Callable[..., object]) -> bool:
    """Return whether a generator function does nothing after each of its yields; False if it is not known.

    >>> def last(element):
    ...     if element:
    ...         yield element
    >>> def again(element):
    ...     yield element
    ...     element.clear()
    >>> ends_with_yield(last), ends_with_yield(again)
    (True, False)
    """
    code = getattr(unwrap(function), "__code__", None)
    if code is None:
        return False
    instructions = list(get_instructions(code))
    places = {each.offset: n for n, each in enumerate(instructions)}
    yields = [n for n, each in enumerate(instructions) if each.opname == "YIELD_VALUE"]
    return all(_ends(instructions, places, n + 1) for n in yields)


def _ends(instructions: list[Instruction], places: dict[int, int], place: int) -> bool:
    """Return whether the instructions from a place on lead straight to the end."""
    while place < len(instructions):
        each = instructions[place]
        if each.opname in _ENDS:
            return True
        if each.opname in _JUMPS:
            place = places[each.argval]
        elif each.opname in _NOTHING:
            place += 1
        else:
            return False
    return False
