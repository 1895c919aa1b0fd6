"""Names of Beam's that Headrace does not have, with what to use instead.

The public modules look up a missing name here, so that a program that is moved from Beam is told more than
that the name is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dis import opmap
from types import FrameType
from typing import Final, NoReturn

_STATE: Final = "import it from headrace.transforms.userstate"
_SOURCES: Final = (
    "write an hr.io.BoundedSource or hr.io.UnboundedSource, or use hr.io.ReadFromSpark"
)
_SINKS: Final = "use files, hr.io.WriteToTable, or write an hr.io.Sink"
_CODERS: Final = "remove it: values are pickled, and keys are compared by a fixed encoding"

BEAM_NAMES: Final = {
    "SideInputData": "use hr.pvalue.AsList, AsDict or AsSingleton",
    **dict.fromkeys(
        (
            "BagStateSpec",
            "CombiningValueStateSpec",
            "OrderedListStateSpec",
            "ReadModifyWriteStateSpec",
            "SetStateSpec",
            "TimerSpec",
        ),
        _STATE,
    ),
    **dict.fromkeys(
        (
            "ReadAllFromText",
            "ReadAllFromParquet",
            "ReadFromAvro",
            "ReadAllFromAvro",
            "ReadFromTFRecord",
            "ReadFromBigQuery",
            "ReadFromPubSub",
            "ReadFromMongoDB",
            "ReadFromJdbc",
            "ReadFromSpanner",
            "ReadFromXml",
            "RestrictionProvider",
            "RestrictionTracker",
        ),
        _SOURCES,
    ),
    "ReadFromKafka": 'use hr.io.ReadFromSpark("kafka", …, streaming=True) on Spark',
    **dict.fromkeys(
        (
            "WriteToAvro",
            "WriteToBigQuery",
            "WriteToJdbc",
            "WriteToKafka",
            "WriteToMongoDB",
            "WriteToPubSub",
            "WriteToSpanner",
            "WriteToTFRecord",
            "WriteToXml",
        ),
        _SINKS,
    ),
    "FileMetadata": "import it from headrace.io.filesystem",
    "FileSystem": "FileSystems has the operations; fsspec file systems have those of one kind of storage",
    "MatchContinuously": "use a reader with watch=True, such as hr.io.ReadFromText",
    "WriteToFiles": "use hr.io.WriteToText, or those of other formats",
    "Coder": _CODERS,
    "TimeDomain": "import it from headrace.transforms.timeutil",
    "Reify": "use hr.Map with DoFn.TimestampParam and DoFn.WindowParam",
    "RunInference": "load the model in setup of a DoFn, and apply it in process",
    "Enrichment": "use a join, or look up the values in a DoFn",
    "SqlTransform": "use hr.GroupBy, hr.Select and joins",
    "Annotations": "remove it",
    "ExternalTransform": "cross-language transforms are not supported",
    "ManagedTransform": "cross-language transforms are not supported",
    "managed": "cross-language transforms are not supported",
    "DirectOptions": "remove it: the local runner has no options of its own",
    "GoogleCloudOptions": "remove it: its flags are accepted and have no effect",
    "WorkerOptions": "remove it: its flags are accepted and have no effect",
    "DebugOptions": "remove it: its flags are accepted and have no effect",
}
"""What to use in place of a name of Beam's, in any module."""


def missing_names_of(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a public module.

    It raises an AttributeError, or an ImportError for ``from module import name``, since Python would replace
    the message of an AttributeError there.

    >>> hr.pvalue.SideInputData
    Traceback (most recent call last):
    AttributeError: Headrace has no SideInputData, a name of Beam's: use hr.pvalue.AsList...
    """

    def missing(name: str) -> NoReturn:
        raise missing_name(module, name, sys._getframe(1))

    return missing


def missing_name(module: str, name: str, caller: FrameType) -> AttributeError | ImportError:
    """Return the error for a name that a module does not have.

    Args:
        module: the module.
        name: the name.
        caller: the frame that asks for the name.
    """
    if name not in BEAM_NAMES:
        return AttributeError(
            f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module)
        )
    text = f"Headrace has no {name}, a name of Beam's: {BEAM_NAMES[name]}"
    if caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(text, name=module)
    return AttributeError(text)
