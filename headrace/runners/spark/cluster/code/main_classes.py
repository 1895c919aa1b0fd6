"""The classes of the user's ``__main__``, registered on the workers so that pickle finds them by name.

A worker cannot import the user's script, because its ``__main__`` is another program. Functions of the
script are pickled with the classes that they use. Without registration, each instance would be pickled
with its class, too; this is slow, and after a restart the class would differ from the one in the state. So
a plan contains the classes, and unpickling it adds them to the worker's ``__main__``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from pyspark import cloudpickle

_CloudPickler: Any = cloudpickle.CloudPickler


@attrs.frozen
class MainClasses:
    """Classes of ``__main__`` by name; unpickling adds them to the process's ``__main__``."""

    classes: Mapping[str, type] = attrs.field(factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a call that registers the classes."""
        return register, (dict(self.classes),)


def register(classes: Mapping[str, type]) -> MainClasses:
    """Add classes to this process's ``__main__``, except for names that it uses for something else."""
    main = sys.modules["__main__"]
    for name, kind in classes.items():
        if is_main_class(getattr(main, name, kind)):
            setattr(main, name, kind)
    return MainClasses(classes)


def classes_in(values: Iterable[object]) -> MainClasses:
    """Return the classes of ``__main__`` that are pickled with values."""
    main = vars(sys.modules["__main__"])
    own = {name: kind for name, kind in main.items() if is_main_class(kind)}
    if not own:
        return MainClasses()
    pickler = _RecordingPickler(io.BytesIO(), protocol=5)
    for value in values:
        pickler.dump(value)
    return MainClasses({name: kind for name, kind in own.items() if kind in pickler.found})


def is_main_class(kind: object) -> bool:
    """Return whether a value is a class that was defined in ``__main__``."""
    return isinstance(kind, type) and kind.__module__ == "__main__"


class _RecordingPickler(_CloudPickler):  # type: ignore[misc]  # pyspark's own copy has no types
    """Records the classes that it pickles."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.found: set[type] = set()

    def reducer_override(self, value: Any) -> object:
        """Record a class; cloudpickle pickles it."""
        if is_main_class(value):
            self.found.add(value)
        return super().reducer_override(value)
