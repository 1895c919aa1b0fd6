"""Lets Beam's test files be imported although Headrace lacks some names that they import.

`make beam-tests` copies this module beside the files, as their ``conftest.py``. In place of a missing name,
or a name of a missing module, a file gets a class that fails when it is called. So only the tests that
use the name fail, not the whole file.
"""

import importlib
import importlib.abc
import importlib.machinery
import pkgutil
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import headrace


class MissingName(type):
    """The class of the classes that stand for missing names."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"{cls.__name__}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "is_missing" in vars(cls):
            raise NotImplementedError(f"missing: {cls.__name__}")
        return super().__call__(*args, **kwargs)

    def __or__(cls, _: Any) -> Any:
        return cls

    __ror__ = __or__  # type: ignore[assignment]  # a part of an annotation


def missing(path: str) -> MissingName:
    """Return what stands for a missing name; it can be a base class or an annotation."""
    item = classmethod(lambda cls, _: cls)
    # Some names begin with "Test", and pytest would collect the classes that stand for them.
    content = {"is_missing": True, "__test__": False, "__class_getitem__": item}
    return MissingName(path, (), content)


class MissingModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of Headrace that do not exist."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("headrace."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        soften(module)


PUBLIC = (
    *(
        "coders",
        "io",
        "metrics",
        "options",
        "pipeline",
        "pvalue",
        "runners.direct",
        "runners.runner",
    ),
    *("testing", "transforms", "typehints", "utils"),
)
"""The modules under Beam's paths; with those in them."""


def soften(module: ModuleType) -> None:
    """Let a module give something for each public name."""
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")

    def get(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except (AttributeError, ImportError):
                pass
        if name.startswith("__") or (name.startswith("_") and module is headrace):
            raise AttributeError(name)  # programs set attributes of the package, and look for them
        return missing(f"{module.__name__}.{name}")

    vars(module)["__getattr__"] = get


def soften_all() -> None:
    """Soften the public modules of Headrace, and let missing modules be found."""
    sys.meta_path.append(MissingModules())
    soften(headrace)
    for name in PUBLIC:
        module = importlib.import_module(f"headrace.{name}")
        soften(module)
        for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
            soften(importlib.import_module(f"headrace.{name}.{found.name}"))


if __name__ == "conftest":
    soften_all()
