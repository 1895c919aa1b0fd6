"""The hints in the annotations of ``expand``: the types in ``PCollection[…]``."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter
from typing import Any, get_args, get_origin

from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.typehints.io_hints import IOTypeHints
from headrace.sdk.typehints.signatures import get_signature


def expansion_hints(expand: Callable[..., object]) -> IOTypeHints | None:
    """Return the hints in the annotations of a transform's ``expand``; None if there are none.

    >>> def expand(pcoll: PCollection[str]) -> PCollection[int]: ...
    >>> expansion_hints(expand)
    IOTypeHints[inputs=((<class 'str'>,), {}), outputs=((<class 'int'>,), {})]
    """
    found = get_signature(expand)
    first: Parameter | None = next(iter(found.parameters.values()), None)
    given = _element(first.annotation) if first is not None else ()
    made = _element(found.return_annotation)
    if not given and not made:
        return None
    name = getattr(expand, "__qualname__", "expand")
    return IOTypeHints((given, {}), (made, {}), [f"annotations of {name}"])


def _element(annotation: object) -> tuple[Any, ...]:
    return get_args(annotation)[:1] if get_origin(annotation) is PCollection else ()
