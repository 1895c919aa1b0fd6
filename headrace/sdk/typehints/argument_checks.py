"""Checks of the names of arguments: an unknown one is refused, with the transform and the nearest name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Final

from headrace.errors import TypeCheckError

NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class UnknownArgument(TypeCheckError):
    """An argument that a transform does not have; a TypeError, as for any function.

    Args:
        owner: the transform or method.
        argument: the name of the argument.
        known: the arguments that the transform has.

    >>> raise UnknownArgument("ReadFromText", "fiel_pattern", ["file_pattern", "strip"])
    Traceback (most recent call last):
    headrace.sdk.typehints.argument_checks.UnknownArgument: ReadFromText has no argument 'fiel_pattern'
      what to do: write file_pattern=...
    """

    def __init__(self, owner: str, argument: str, known: Iterable[str]) -> None:
        self.argument = argument
        self.known = list(known)
        super().__init__(
            f"{owner} has no argument {argument!r}", remedy=_remedy(argument, self.known)
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the error that it is a kind of."""
        return TypeCheckError(self.problem, where=self.where, remedy=self.remedy).__reduce__()


class UnknownParameter(UnknownArgument):
    """An argument that a transform would pass to a function that does not take it."""


def _remedy(argument: str, known: list[str]) -> str:
    near = get_close_matches(argument, known, 1)
    if near:
        return f"write {near[0]}=..."
    return f"its arguments are {', '.join(known)}" if known else "it has no arguments by name"


def refuse_unknown(
    owner: str,
    given: Iterable[str],
    known: Iterable[str],
    error: type[UnknownArgument] = UnknownArgument,
) -> None:
    """Refuse arguments that do not exist.

    Args:
        owner: the transform, method or function.
        given: the names of the given arguments.
        known: the names of the arguments that it has.
        error: the error.

    Raises:
        UnknownArgument: one does not exist.
    """
    known = list(known)
    for name in given:
        if name not in known:
            raise error(owner, name, known)


def named_parameters(fn: Callable[..., object]) -> list[str] | None:
    """Return the names of parameters that can be passed by name; None if all names are accepted, or unknown.

    >>> named_parameters(lambda x, *rest, y: x), named_parameters(lambda **anything: 1)
    (['x', 'y'], None)
    """
    if fn in (min, max):
        return ["key", "default"]
    try:
        parameters = signature(fn).parameters.values()
    except (ValueError, TypeError):  # some built-in functions have no signature
        return None
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters if parameter.kind in NAMED]


def checks_arguments(cls: type) -> None:
    """Let the constructor that a class defines, if any, refuse unknown arguments with the class's name."""
    init = vars(cls).get("__init__")
    if init is None:
        return
    known = named_parameters(init)
    own = [p.name for p in signature(init).parameters.values() if p.kind in NAMED]

    @wraps(init)
    def checked(self: object, *args: object, **kwargs: object) -> None:
        if known is not None and not kwargs.keys() <= set(known):
            refuse_unknown(type(self).__name__, kwargs, known[1:])
        try:
            init(self, *args, **kwargs)
        except UnknownArgument as error:
            if type(error) is not UnknownArgument or error.argument not in kwargs:
                raise
            known_to_all = [*own[1:], *error.known]
            raise UnknownArgument(type(self).__name__, error.argument, known_to_all) from None

    cls.__init__ = checked  # type: ignore[misc]
