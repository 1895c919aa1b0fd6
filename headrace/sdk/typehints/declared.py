"""What functions declare: their parameters, which are read once for each function."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from inspect import Parameter, Signature, signature
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

_Known = MutableMapping[FunctionType, Signature]

_FUNCTIONS: _Known = WeakKeyDictionary()
_METHODS: _Known = WeakKeyDictionary()
"""Signatures of methods of instances, which lack the instance, by function."""


def signature_of(fn: Callable[..., object]) -> Signature:
    """Return the signature of a function, as :func:`inspect.signature` does.

    A pipeline asks for those of the same functions and methods again and again.

    Raises:
        ValueError: the signature is unknown, as that of some built-in functions.
        TypeError: no signature is known for this kind of object.

    >>> signature_of(lambda x, *rest: x)
    <Signature (x, *rest)>
    >>> from fractions import Fraction
    >>> signature_of(Fraction.limit_denominator), signature_of(Fraction(1).limit_denominator)
    (<Signature (self, max_denominator=1000000)>, <Signature (max_denominator=1000000)>)
    """
    if isinstance(fn, FunctionType):
        return _kept(_FUNCTIONS, fn, fn)
    if isinstance(fn, MethodType) and isinstance(fn.__func__, FunctionType):
        return _kept(_METHODS, fn.__func__, fn)
    return signature(fn)


def parameters_of(fn: Callable[..., object]) -> list[Parameter]:
    """Return the parameters of a function; none if its signature is unknown.

    >>> [str(parameter) for parameter in parameters_of(lambda x, y=1: x)], parameters_of(min)
    (['x', 'y=1'], [])
    """
    try:
        return list(signature_of(fn).parameters.values())
    except (ValueError, TypeError):  # some built-in functions have no signature
        return []


def _kept(known: _Known, function: FunctionType, fn: Callable[..., Any]) -> Signature:
    found = known.get(function)
    if found is None:
        found = known[function] = signature(fn)
    return found
