"""Base classes of transforms that read files of a format."""

from __future__ import annotations

from typing import Any, Final, Generic

from headrace.errors import UnsupportedError
from headrace.sdk.elements.type_variables import OutT
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.malformed_records import FilesWithMalformedRecords, separated
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.pardo.exception_handling import (
    Exceptions,
    Missing,
    check_exceptions,
    check_supported,
    check_threshold,
    stop_at_threshold,
)
from headrace.sdk.pardo.transforms import Map
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform


class ReadFromFiles(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """Reads files of one format.

    Args:
        files: the files.
        element_type: the type of their elements.
        options: how they are read.
    """

    def __init__(self, files: FileSource, element_type: Any, options: ReadOptions) -> None:
        super().__init__()
        self.output_type = element_type
        self.files = files
        self.options = options

    def display_data(self) -> dict[str, Any]:
        """Return the display data of the files."""
        return self.files.display_data()

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        return self.options.read(self.files).with_output_types(self.output_type).expand(pcoll)

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: Exceptions = Exception,
        threshold: float = 1,
        **unsupported: Any,
    ) -> ReadWithExceptionHandling:
        r"""Return the transform with a second output, for the records that cannot be read.

        An element of this output is ``(text of the record, (type of the exception, its repr, lines of its
        traceback))``. Its timestamp is the beginning of time. A record is malformed if its format, its
        schema or its timestamp does not fit. A file that cannot be opened or decoded, or that has another
        header, is an error as before.

        Args:
            main_tag: name of the output for the elements.
            dead_letter_tag: name of the output for malformed records.
            exc_class: the exceptions to catch, one class or a tuple of classes.
            threshold: fraction of the records that may be malformed, from 0 to 1; if more are, the
                pipeline stops with a FailuresError at the end of the input. Not supported with ``watch``.
            unsupported: other arguments of :meth:`headrace.Map.with_exception_handling`, which are
                supported only with their default values.

        Raises:
            UnsupportedError: an argument is not supported, or the format has no separate records.
            PipelineError: an argument is not valid.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.json")
        >>> _ = path.write_text('{"airport": "EWR"}\n{"airport": \n')
        >>> with Pipeline() as p:
        ...     good, bad = p | hr.io.ReadFromJson(path).with_exception_handling()
        ...     _ = good | Map(print)
        ...     _ = bad | "Bad" >> MapTuple(lambda line, error: print(line, error[0].__name__))
        Row(airport='EWR')
        {"airport":  FileError
        """
        check_supported(unsupported, _UNSUPPORTED)
        check_exceptions(exc_class)
        check_threshold(threshold)
        if not hasattr(self.files, "text_records"):
            raise UnsupportedError(
                f"{type(self).__name__} does not support with_exception_handling: what follows a malformed "
                "record of its files cannot be read",
                remedy="set timestamps in a later step: "
                "hr.WithTimestamps(…).with_exception_handling()",
            )
        if threshold < 1 and self.options.is_endless:
            raise UnsupportedError(
                f"with_exception_handling does not support threshold={threshold:g} with watch, "
                "because the input never ends",
                remedy="remove the threshold, and count the dead letters",
            )
        return ReadWithExceptionHandling(self, main_tag, dead_letter_tag, exc_class, threshold)


_UNSUPPORTED: Final = {
    "partial": Missing(False, "remove it; a malformed record has no outputs"),
    "threshold_windowing": Missing(None, "remove it; all records are counted together"),
    "on_failure_callback": Missing(None, "apply a function to the second output"),
}


class ReadWithExceptionHandling(PTransform[PBegin, DoOutputsTuple]):
    """A transform that reads files, with an additional output for the records that cannot be read.

    Args:
        read: the transform.
        main_tag: name of the output for the elements.
        dead_letter_tag: name of the output for malformed records.
        exc_class: the exceptions to catch.
        threshold: fraction of the records that may be malformed.
    """

    def __init__(
        self,
        read: ReadFromFiles[Any],
        main_tag: str,
        dead_letter_tag: str,
        exc_class: Exceptions,
        threshold: float,
    ) -> None:
        super().__init__()
        self._transform = read
        self._tags = main_tag, dead_letter_tag
        self._exc_class = exc_class
        self._threshold = threshold

    def default_label(self) -> str:
        return self._transform.label

    def expand(self, pcoll: PBegin) -> DoOutputsTuple:
        read = self._transform
        main, bad = self._tags
        files = FilesWithMalformedRecords.of(read.files, self._exc_class)
        records = pcoll | "Read" >> read.options.read(files)
        separate: Any = Map(separated, bad).with_output_types(read.output_type)
        outputs: DoOutputsTuple = records | "Separate" >> separate.with_outputs(bad, main=main)
        if self._threshold < 1:
            stop_at_threshold(records, outputs[bad], self._threshold)
        return outputs
