"""Arguments without an effect are accepted, and warn where they are given."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.io import fileio
from headrace.sdk.typehints.ignored_arguments import IGNORED
from headrace.testing import TestStream

TRANSFORMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "Create": (hr.Create, ([1],)),
    "TestStream": (TestStream, ()),
    "GroupIntoBatches": (hr.GroupIntoBatches, (2,)),
    "GroupIntoBatches.WithShardedKey": (hr.GroupIntoBatches.WithShardedKey, (2,)),
    "BatchElements": (hr.BatchElements, ()),
    "ReadFromKafka": (hr.io.ReadFromKafka, ({"bootstrap.servers": "a:1"}, "b")),
    "ReadFromText": (hr.io.ReadFromText, ("a",)),
    "ReadFromAvro": (hr.io.ReadFromAvro, ("a",)),
    "ReadAllFromText": (hr.io.ReadAllFromText, ()),
    "ReadAllFromParquet": (hr.io.ReadAllFromParquet, ()),
    "ReadAllFromParquetBatched": (hr.io.ReadAllFromParquetBatched, ()),
    "ReadAllFromAvro": (hr.io.ReadAllFromAvro, ()),
    "WriteToAvro": (hr.io.WriteToAvro, ("a",)),
    "WriteToFiles": (fileio.WriteToFiles, ("a",)),
    "WriteToKafka": (hr.io.WriteToKafka, ({"bootstrap.servers": "a:1"}, "b")),
}

ARGUMENTS = [(transform, name) for transform, names in IGNORED.items() for name in names]


@pytest.mark.parametrize(("transform", "name"), ARGUMENTS)
def test_an_argument_warns_unless_it_has_its_default_value(transform, name):
    make, arguments = TRANSFORMS[transform]
    default = IGNORED[transform][name].default
    assert inspect.signature(make).parameters[name].default == default
    make(*arguments)
    make(*arguments, **{name: default})
    with pytest.warns(hr.HeadraceWarning, match=f"{transform}: the argument {name} has no effect"):
        make(*arguments, **{name: "another"})


def test_a_line_of_a_program_warns_once():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            hr.Create([1], reshuffle=False)
    assert len(seen) == 1
