"""Context managers that a function asks for: entered with a worker or a bundle, and exited with it.

Finalizers of bundles, for which functions ask in the same way, are passed with them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from inspect import Signature
from typing import Any, Final

from headrace.runners.calls.bundle_finalizer import BundleFinalizer
from headrace.sdk.pardo.dofn import (
    PARAMETERS,
    BundleContextParam,
    ContextParam,
    SetupContextParam,
)
from headrace.sdk.typehints.declared import signature_of

ContextScope = type[ContextParam]

_SCOPES: Final[tuple[ContextScope, ...]] = (SetupContextParam, BundleContextParam)

_FINALIZER: Final = PARAMETERS["BundleFinalizerParam"]


def _is_context(default: object) -> bool:
    return isinstance(default, ContextParam) or default is _FINALIZER


class ContextManagers:
    """The context managers of one step in one process.

    Functions are first bound, then contexts are entered, then the functions are called.

    Attributes:
        finalizer: the finalizer of the bundles of the step.
    """

    def __init__(self) -> None:
        self.finalizer = BundleFinalizer()
        self._asked: dict[ContextScope, dict[int, ContextParam]] = {scope: {} for scope in _SCOPES}
        self._open: dict[ContextScope, ExitStack] = {}
        self._values: dict[int, object] = {id(_FINALIZER): self.finalizer}

    def bound(self, fn: Callable[..., object]) -> Callable[..., Any]:
        """Return a function whose parameters for contexts are passed; the function itself if it has none."""
        try:
            declared = signature_of(fn)
        except (ValueError, TypeError):  # some built-in functions have no signature
            return fn
        defaults = [p.default for p in declared.parameters.values()]
        contexts = [default for default in defaults if _is_context(default)]
        for parameter in contexts:
            if isinstance(parameter, ContextParam):
                self._asked[type(parameter)][id(parameter)] = parameter
        return _WithContexts(fn, declared, self._values) if contexts else fn

    def enter(self, scope: ContextScope) -> None:
        """Enter the contexts of a worker or a bundle."""
        if not self._asked[scope]:
            return
        with ExitStack() as stack:
            for known, parameter in self._asked[scope].items():
                self._values[known] = stack.enter_context(parameter.create())
            self._open[scope] = stack.pop_all()

    def exit(self, scope: ContextScope) -> None:
        """Exit the contexts of a worker or a bundle, if they are entered."""
        stack = self._open.pop(scope, None)
        if stack is not None:
            stack.close()

    def close(self) -> None:
        """Exit all contexts: first of the bundle, then of the worker."""
        try:
            self.exit(BundleContextParam)
        finally:
            self.exit(SetupContextParam)


class _WithContexts:
    """A function without its parameters for contexts.

    Args:
        fn: the function.
        declared: its signature.
        values: the values of contexts by the identity of their parameters.
    """

    def __init__(self, fn: Callable[..., Any], declared: Signature, values: dict[int, Any]) -> None:
        parameters = list(declared.parameters.values())
        contexts = [_is_context(p.default) for p in parameters]
        self._fn = fn
        self._values = values
        self._contexts = {
            p.name: id(p.default)
            for p, is_context in zip(parameters, contexts, strict=True)
            if is_context
        }
        kept = [p for p in parameters if p.name not in self._contexts]
        self._first = contexts.index(True)
        self._names = [p.name for p in kept[self._first :]]
        self.__signature__ = Signature(kept)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the function; the arguments after the first context are passed by name."""
        first, values = self._first, self._values
        contexts = {name: values[known] for name, known in self._contexts.items()}
        named = dict(zip(self._names, args[first:], strict=False))
        return self._fn(*args[:first], **named, **kwargs, **contexts)
