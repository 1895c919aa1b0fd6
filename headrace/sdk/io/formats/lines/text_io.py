"""ReadFromText, ReadAllFromText, WriteToText, …: transforms over text files."""

from __future__ import annotations

from typing import Any, Generic

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.files.file_source import TimestampOf
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.lines.line_coder import LineDecoder, LineEncoder, LineT, line_type
from headrace.sdk.io.formats.lines.line_sinks import TextSink
from headrace.sdk.io.formats.lines.text_files import TextFiles
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.reading_all import ReadAllFromFiles, ReadContinuously
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.watermarks.policies import WatermarkPolicy


class ReadFromText(ReadFromFiles[LineT], Generic[LineT]):
    r"""Reads lines of text files, by default as strings in UTF-8 (Beam's ReadFromText).

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        strip_trailing_newlines: whether to remove line breaks, ``\n`` or ``\r\n``.
        validate: whether to raise an error if a pattern matches no file now.
        coder: an object with a method ``decode``, such as a :class:`~headrace.coders.Coder`, which gets the
            bytes of a line and returns the element; by default a line is text in UTF-8.
        skip_header_lines: number of lines to skip at the beginning of each file.
        min_bundle_size: has no effect.
        timestamp: a function of the element that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.

    Raises:
        FileError: no file matches, or one cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "letters.txt")
    >>> _ = path.write_text("a\nb\n")
    >>> with Pipeline() as p:
    ...     _ = p | ReadFromText(path) | Map(print)
    a
    b
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        compression_type: str = "auto",
        strip_trailing_newlines: bool = True,
        coder: LineDecoder[LineT] | None = None,
        validate: bool = True,
        skip_header_lines: int = 0,
        min_bundle_size: int = 0,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        warn_of_ignored("ReadFromText", min_bundle_size=min_bundle_size)
        if isinstance(timestamp, str):
            raise PipelineError(
                f"lines of text have no column {timestamp!r}",
                remedy="give a function of the line as the timestamp",
            )
        files = TextFiles(
            file_pattern,
            strip_trailing_newlines,
            skip_header_lines,
            timestamp=timestamp,
            compression_type=compression_type,
            coder=coder,
        )
        options = ReadOptions(validate, watermark, watch)
        super().__init__(files, line_type(files.coder), options)


class ReadFromTextWithFilename(ReadFromFiles[tuple[str, LineT]], Generic[LineT]):
    r"""Reads lines of text files, as pairs of the path and the line (Beam's ReadFromTextWithFilename).

    Args:
        file_pattern: see :class:`ReadFromText`.
        arguments: the other arguments of :class:`ReadFromText`; a timestamp is a function of the pair.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "letters.txt")
    >>> _ = path.write_text("a\nb\n")
    >>> with Pipeline() as p:
    ...     lines = p | hr.io.ReadFromTextWithFilename(path)
    ...     _ = lines | MapTuple(lambda path, line: print(pathlib.Path(path).name, line))
    letters.txt a
    letters.txt b
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        coder: LineDecoder[LineT] | None = None,
        **arguments: Any,
    ) -> None:
        lines = ReadFromText(file_pattern, coder=coder, **arguments)
        # The same reader, of files that also tell their names.
        files = attrs.evolve(lines.files, with_filename=True)  # type: ignore[call-arg]
        super().__init__(files, tuple[str, lines.output_type], lines.options)  # type: ignore[name-defined]


class ReadAllFromText(ReadAllFromFiles[LineT], Generic[LineT]):
    r"""Reads the lines of the text files that a collection names (Beam's ReadAllFromText).

    An element of the input is a path, a pattern, or metadata of a file; a path that does not exist is an
    error.

    Args:
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        strip_trailing_newlines: whether to remove line breaks, ``\n`` or ``\r\n``.
        coder: an object with a method ``decode``, which gets the bytes of a line and returns the element; by
            default a line is text in UTF-8.
        skip_header_lines: number of lines to skip at the beginning of each file.
        with_filename: whether elements are pairs of the path of the file and the line.
        min_bundle_size: has no effect.
        desired_bundle_size: has no effect.

    Raises:
        FileError: a path does not exist, or a file cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "letters.txt")
    >>> _ = path.write_text("a\nb\n")
    >>> with Pipeline() as p:
    ...     _ = p | Create([str(path)]) | hr.io.ReadAllFromText() | Map(print)
    a
    b
    """

    def __init__(
        self,
        *,
        compression_type: str = "auto",
        strip_trailing_newlines: bool = True,
        coder: LineDecoder[LineT] | None = None,
        skip_header_lines: int = 0,
        with_filename: bool = False,
        min_bundle_size: int = 0,
        desired_bundle_size: int = 0,
    ) -> None:
        warn_of_ignored(
            "ReadAllFromText",
            min_bundle_size=min_bundle_size,
            desired_bundle_size=desired_bundle_size,
        )
        files = TextFiles(
            (),
            strip_trailing_newlines,
            skip_header_lines,
            compression_type=compression_type,
            coder=coder,
        )
        super().__init__(files, line_type(files.coder), with_filename)


class ReadAllFromTextContinuously(ReadContinuously):
    r"""Reads the lines of text files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromText`.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "a.txt").write_text("one\n")
    >>> with Pipeline() as p:
    ...     lines = p | hr.io.ReadAllFromTextContinuously(
    ...         f"{directory}/*.txt", interval=10, start_timestamp=0, stop_timestamp=10
    ...     )
    ...     _ = lines | Map(print)
    one
    """

    reader = ReadAllFromText


class WriteToText(WriteTo):
    r"""Writes ``str(element)`` for each element, on a separate line (Beam's WriteToText).

    In batch mode the file names are ``prefix-00000-of-00001suffix``. In streaming mode each batch has files
    of its own, and its number precedes the shard number: ``prefix-b000007-00000-of-00001suffix``. Files
    contain elements of all windows; with ``windowed_writes`` each window has its own, and
    ``-start-end`` in basic ISO 8601 form follows the prefix. Files of an earlier run with the same prefix
    and suffix are deleted.

    Without ``num_shards`` the parts of a batch that workers write are joined into files of up to 32 MiB. A
    part of 8 MiB or more is a file of its own, which is only renamed.

    Args:
        file_path_prefix: the beginning of the paths; missing directories are created.
        file_name_suffix: the end of the paths; .gz, .bz2, .xz, .deflate and .zst are compressed.
        append_trailing_newlines: whether to write a line break after each element.
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        coder: an object with a method ``encode``, such as a :class:`~headrace.coders.Coder`, which returns
            the bytes of an element; by default they are ``str(element)`` in UTF-8, or the element itself if
            it is bytes.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        header: the first line of each file.
        footer: the last line of each file.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b"]) | WriteToText(directory / "out", ".txt")
    >>> (directory / "out-00000-of-00001.txt").read_text()
    'a\nb\n'
    """

    def __init__(
        self,
        file_path_prefix: PathPrefix,
        file_name_suffix: str = "",
        append_trailing_newlines: bool = True,
        num_shards: int | None = 0,
        shard_name_template: str | None = None,
        coder: LineEncoder | None = None,
        *,
        compression_type: str = "auto",
        header: str | None = None,
        footer: str | None = None,
        windowed_writes: bool = False,
    ) -> None:
        files = WriteOptions(
            file_path_prefix,
            file_name_suffix,
            shard_name_template,
            num_shards,
            compression_type,
            windowed_writes=windowed_writes,
        )
        sink = files.sink(TextSink, append_trailing_newlines, header, footer, coder=coder)
        super().__init__(sink)
