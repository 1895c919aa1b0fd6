"""Values of options that can be known later than the pipeline: Beam's value providers.

Beam has them for templates, whose options are set after the pipeline is built. Headrace has no templates, so
the value of a flag that is given is known at once. A flag that is not given has a
:class:`RuntimeValueProvider`, whose value comes from the options of the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar

from headrace.errors import PipelineError


class RuntimeValueProviderError(PipelineError):
    """A value of an option that is used before it is known.

    >>> RuntimeValueProvider("wheels", int, 2).get()
    Traceback (most recent call last):
    headrace.sdk.options.value_provider.RuntimeValueProviderError: the value of --wheels is known only in a
    run...
    """


class ValueProvider:
    """The value of an option, which may be known only in a run (Beam's name).

    A provider of a path can be used as a path: ``ReadFromText(options.input)``. Since there are no
    templates, a flag that is not given then has its default value.

    >>> StaticValueProvider(int, "3").get()
    3
    """

    def is_accessible(self) -> bool:
        """Return whether the value is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define is_accessible")

    def get(self) -> Any:
        """Return the value.

        Raises:
            RuntimeValueProviderError: it is not known yet.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define get")

    def __fspath__(self) -> str:
        """Return the value as a path, while the pipeline is built.

        Raises:
            RuntimeValueProviderError: the flag is not given and has no default value.
        """
        path: str = os.fspath(known_value(self))
        return path


class StaticValueProvider(ValueProvider):
    """A known value; it is equal to the value itself.

    Args:
        value_type: converts the value.
        value: the value.

    >>> StaticValueProvider(int, "3") == 3
    True
    """

    def __init__(self, value_type: Callable[[Any], Any], value: Any) -> None:
        self.value_type = value_type
        self.value = value_type(value)

    def is_accessible(self) -> bool:
        return True

    def get(self) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StaticValueProvider):
            return (self.value_type, self.value) == (other.value_type, other.value)
        return bool(self.value == other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return str(self.value)


class RuntimeValueProvider(ValueProvider):
    """The value of an option in the options of the run; workers get the value that it has there.

    Args:
        option_name: name of the option.
        value_type: converts the value.
        default_value: the value if the options of the run do not have the option.

    Attributes:
        runtime_options: the options of the run by name, of the latest one if there are several at once;
            None outside a run.

    >>> name = RuntimeValueProvider("job_name", str, "nobody")
    >>> name.is_accessible()
    False
    >>> with Pipeline(options=hr.options.PipelineOptions(["--job_name=mill"])) as p:
    ...     _ = p | Create(["turns"]) | Map(lambda word: print(name.get(), word))
    mill turns
    """

    runtime_options: ClassVar[Mapping[str, Any] | None] = None

    def __init__(
        self, option_name: str, value_type: Callable[[Any], Any], default_value: Any
    ) -> None:
        self.option_name = option_name
        self.value_type = value_type
        self.default_value = default_value

    def is_accessible(self) -> bool:
        return RuntimeValueProvider.runtime_options is not None

    def get(self) -> Any:
        if not self.is_accessible():
            raise RuntimeValueProviderError(
                f"the value of --{self.option_name} is known only in a run",
                remedy="call get() in a function or a DoFn of the pipeline, or give the flag",
            )
        return self.get_value(self.option_name, self.value_type, self.default_value)

    @classmethod
    def get_value(
        cls, option_name: str, value_type: Callable[[Any], object], default_value: object
    ) -> Any:
        """Return the value of an option in the run, or its default value."""
        options = RuntimeValueProvider.runtime_options
        value = None if options is None else options.get(option_name)
        if value is None or isinstance(value, RuntimeValueProvider):
            return default_value
        return value.get() if isinstance(value, ValueProvider) else value_type(value)

    @classmethod
    def set_runtime_options(cls, pipeline_options: Mapping[str, object] | None) -> None:
        """Set the options of the run by name; None outside a run."""
        RuntimeValueProvider.runtime_options = pipeline_options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuntimeValueProvider) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self.option_name)

    @property
    def _parts(self) -> tuple[str, Callable[[Any], object], object]:
        return self.option_name, self.value_type, self.default_value

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the value that the option has in the run: workers do not have its options."""
        if self.is_accessible():
            return _known, (self.get(),)
        return RuntimeValueProvider, self._parts

    def __str__(self) -> str:
        named = getattr(self.value_type, "__name__", self.value_type)
        return (
            f"{type(self).__name__}(option: {self.option_name}, type: {named}, "
            f"default_value: {self.default_value!r})"
        )


class NestedValueProvider(ValueProvider):
    """A value that is computed, once, from the value of another provider.

    Args:
        value: the other provider.
        translator: function of its value.

    >>> NestedValueProvider(StaticValueProvider(str, "in"), lambda d: d + "/part.txt").get()
    'in/part.txt'
    """

    def __init__(self, value: ValueProvider, translator: Callable[[Any], Any]) -> None:
        self.value = value
        self.translator = translator

    def is_accessible(self) -> bool:
        return self.value.is_accessible()

    def get(self) -> Any:
        if not hasattr(self, "_computed"):
            self._computed = self.translator(self.value.get())
        return self._computed

    def __str__(self) -> str:
        named = getattr(self.translator, "__name__", self.translator)
        return f"{type(self).__name__}(value: {self.value}, translator: {named})"


def check_accessible(value_provider_list: list[str]) -> Callable[[Any], Any]:
    """Return a decorator of methods that need the values of some providers.

    Args:
        value_provider_list: names of the attributes that have the providers.

    >>> class Mill:
    ...     wheels = RuntimeValueProvider("wheels", int, 2)
    ...
    ...     @check_accessible(["wheels"])
    ...     def turn(self):
    ...         return self.wheels.get()
    >>> Mill().turn()
    Traceback (most recent call last):
    headrace.sdk.options.value_provider.RuntimeValueProviderError: RuntimeValueProvider(option: wheels, ...
    """

    def decorate(method: Any) -> object:
        @wraps(method)
        def checked(self: object, *args: object, **kwargs: object) -> Any:
            for provider in (getattr(self, name) for name in value_provider_list):
                if not provider.is_accessible():
                    raise RuntimeValueProviderError(
                        f"{provider} is not known yet", remedy="call the method in a run"
                    )
            return method(self, *args, **kwargs)

        return checked

    return decorate


def known_value(value: object) -> Any:
    """Return the value of a provider while the pipeline is built; another value is returned as it is.

    Since there are no templates, a flag that is not given has its default value.

    Raises:
        RuntimeValueProviderError: the flag is not given and has no default value.

    >>> known_value(StaticValueProvider(str, "in.txt")), known_value("in.txt")
    ('in.txt', 'in.txt')
    """
    if isinstance(value, NestedValueProvider):
        return value.translator(known_value(value.value))
    if isinstance(value, RuntimeValueProvider) and not value.is_accessible():
        if value.default_value is None:
            raise RuntimeValueProviderError(
                f"the flag --{value.option_name} is not given, and has no default value",
                remedy=f"give it: --{value.option_name}=VALUE",
            )
        return value.default_value
    return value.get() if isinstance(value, ValueProvider) else value


def _known(value: object) -> StaticValueProvider:
    return StaticValueProvider(_itself, value)


def _itself(value: object) -> object:
    return value
