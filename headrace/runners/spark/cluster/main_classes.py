"""The classes of the user's script, so that workers know them by name.

A worker cannot import the script: its own ``__main__`` is another program. Classes of the script travel by
value with the functions that use them, and what is made of them would, too: each time with its class, which
is slow, and which after a restart is another class than the one in the state. So what travels to a worker
tells it the script's classes, and they are put where pickle looks for them.
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
class ScriptClasses:
    """Classes of ``__main__`` by name; unpickled in another process, they are in its ``__main__``."""

    classes: Mapping[str, type] = attrs.field(factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as what makes the classes known."""
        return known, (dict(self.classes),)


def known(classes: Mapping[str, type]) -> ScriptClasses:
    """Put classes into this process's ``__main__``, except where it has something else of the name."""
    main = sys.modules["__main__"]
    for name, kind in classes.items():
        if is_scripts(getattr(main, name, kind)):
            setattr(main, name, kind)
    return ScriptClasses(classes)


def classes_in(things: Iterable[Any]) -> ScriptClasses:
    """Return the classes of the script that travel with things."""
    main = vars(sys.modules["__main__"])
    own = {name: kind for name, kind in main.items() if is_scripts(kind)}
    if not own:
        return ScriptClasses()
    noting = _Noting(io.BytesIO(), protocol=5)
    for thing in things:
        noting.dump(thing)
    return ScriptClasses({name: kind for name, kind in own.items() if kind in noting.found})


def is_scripts(kind: Any) -> bool:
    """Tell whether something is a class that was defined in ``__main__``."""
    return isinstance(kind, type) and kind.__module__ == "__main__"


class _Noting(_CloudPickler):  # type: ignore[misc]  # pyspark's own copy has no types
    """Notes the classes that it pickles."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.found: set[type] = set()

    def reducer_override(self, thing: Any) -> Any:
        """Note a class, and leave it to cloudpickle."""
        if is_scripts(thing):
            self.found.add(thing)
        return super().reducer_override(thing)
