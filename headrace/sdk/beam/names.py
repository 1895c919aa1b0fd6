"""Beam names that Headrace does not have, with their substitutes.

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
    "write an hr.io.BoundedSource or hr.io.UnboundedSource, or use hr.Watch or hr.io.ReadFromSpark"
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
            "ReadFromBigQuery",
            "ReadFromPubSub",
            "ReadFromMongoDB",
            "ReadFromJdbc",
            "ReadFromSpanner",
            "ReadFromXml",
        ),
        _SOURCES,
    ),
    **dict.fromkeys(
        (
            "WriteToBigQuery",
            "WriteToJdbc",
            "WriteToMongoDB",
            "WriteToPubSub",
            "WriteToSpanner",
            "WriteToXml",
        ),
        _SINKS,
    ),
    "FileMetadata": "import it from headrace.io.filesystem",
    "FileSystem": "FileSystems has the operations; fsspec file systems have those of one kind of storage",
    "Coder": _CODERS,
    "Reify": "use hr.Map with DoFn.TimestampParam and DoFn.WindowParam",
    "RemoveDuplicates": "use hr.Distinct",
    "SortAndBatchElements": "use hr.GroupIntoBatches, or hr.BatchElements and sort its batches",
    **dict.fromkeys(
        ("GroupByEncryptedKey", "GcpSecret", "GcpHsmGeneratedSecret"),
        "keys are not encrypted; on Spark, spark.io.encryption.enabled encrypts shuffled data",
    ),
    "Shared": "create the object in setup of a DoFn: each process has its own",
    "Windowing": "internal to Beam: use hr.WindowInto",
    "transform_annotations": "remove it",
    "label_from_callable": "internal to Beam: give a label, 'label' >> transform",
    "annotate_yaml": "pipelines in YAML are not supported",
    "WithTypeHints": "internal to Beam: use with_output_types of a transform",
    "disable_type_annotations": "use --no_pipeline_type_check",
    "has_at_least_one": "use is_not_empty, or a matcher of your own",
    "FileBasedSink": "subclass hr.io.FileSink, or pass a fileio.FileSink to fileio.WriteToFiles",
    "RunInference": "load the model in setup of a DoFn, and apply it in process",
    **dict.fromkeys(
        ("Enrichment", "EnrichmentSourceHandler"), "import it from headrace.transforms.enrichment"
    ),
    "RequestResponseIO": "use headrace.transforms.enrichment.Enrichment",
    "RedisCache": "use Enrichment(...).with_cache(time_to_live, max_size)",
    **dict.fromkeys(
        ("DefaultThrottler", "PreCallThrottler"),
        "raise UserCodeQuotaException in the handler: then the repeater waits",
    ),
    "SqlTransform": "use hr.GroupBy, hr.Select and joins",
    "Annotations": "remove it",
    "ExternalTransform": "cross-language transforms are not supported",
    "ManagedTransform": "cross-language transforms are not supported",
    "managed": "cross-language transforms are not supported",
}
"""Substitutes for Beam names, in any module."""


GOOGLE_MODULES: Final = {
    "io.gcp": "use files, hr.io.ReadFromSpark, or your own source and sink",
    "io.gcp.bigquery": 'use hr.io.ReadFromSpark("bigquery", …) with its connector for Spark, and write files '
    "for its load jobs: hr.io.WriteToParquet, hr.io.WriteToAvro or hr.io.WriteToJson",
    "io.gcp.bigquery_tools": "use dicts or rows, and hr.io.WriteToJson, WriteToAvro or WriteToParquet",
    "io.gcp.bigtableio": "write an hr.io.Sink that uses Bigtable's client",
    "io.gcp.datastore.v1new.datastoreio": "write a BoundedSource and a Sink that use its client",
    "io.gcp.datastore.v1new.types": "use the classes of its client",
    "io.gcp.gcsfilesystem": "install gcsfs: then readers, writers and FileSystems take gs:// URLs",
    "io.gcp.gcsio": "install gcsfs: then readers, writers and FileSystems take gs:// URLs",
    "io.gcp.pubsub": "write an hr.io.UnboundedSource that uses the client of Pub/Sub, or read Kafka with "
    "hr.io.ReadFromKafka",
    "io.gcp.spanner": "write an hr.io.BoundedSource and an hr.io.Sink that use its client",
}
"""Modules for Google services, which Headrace does not connect to, with their substitutes."""


def google_names_of(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module for a Google service: each name is refused.

    >>> from headrace.io.gcp.bigquery import BigQuerySource
    Traceback (most recent call last):
    ImportError: Headrace has no BigQuerySource, since it does not connect to Google's services: use...
    """

    def refused(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        instead = GOOGLE_MODULES[module.partition(".")[2]]
        text = f"Headrace has no {name}, since it does not connect to Google's services: {instead}"
        raise _error(text, module, sys._getframe(1))

    return refused


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
    return _error(f"Headrace has no {name}, a name of Beam's: {BEAM_NAMES[name]}", module, caller)


def _error(text: str, module: str, caller: FrameType) -> AttributeError | ImportError:
    if caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(text, name=module)
    return AttributeError(text, name=None, obj=None)
