"""Which files transforms write, whatever the format."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Concatenate, TypeAlias, TypeVar

import attrs

from headrace.sdk.elements.type_variables import Rest
from headrace.sdk.io.files.file_naming import SHARDED, FileNaming
from headrace.sdk.io.files.file_sink import FileSink

PathPrefix: TypeAlias = str | os.PathLike[str]
"""The beginning of the paths of files."""

SinkT = TypeVar("SinkT", bound=FileSink)


@attrs.frozen
class WriteOptions:
    """The arguments that the writers of all formats share.

    Attributes:
        prefix: the beginning of the paths.
        suffix: the end of the paths.
        template: template of the shard's name; ``""`` for one file without numbers.
        num_shards: number of files for each batch; 0 joins small parts, and leaves large ones as they are.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        diff_column: name of a column for +1 (an element) and -1 (its retraction).
        windowed_writes: whether each window has files of its own.
    """

    prefix: PathPrefix
    suffix: str = ""
    template: str | None = None
    num_shards: int | None = 0
    compression_type: str = "auto"
    diff_column: str | None = None
    windowed_writes: bool = False

    @property
    def naming(self) -> FileNaming:
        """The names of the files.

        >>> WriteOptions("out", ".txt").naming.template
        '-SSSSS-of-NNNNN'
        """
        template = SHARDED if self.template is None else self.template
        return FileNaming(os.fspath(self.prefix), self.suffix, template)

    @property
    def shards(self) -> int:
        """The number of shards: 1 by default if the template has no number.

        >>> WriteOptions("out", template="").shards, WriteOptions("out", num_shards=None).shards
        (1, 0)
        """
        return 1 if self.template == "" and not self.num_shards else self.num_shards or 0

    def sink(
        self,
        kind: Callable[Concatenate[FileNaming, Rest], SinkT],
        *arguments: Rest.args,
        **named: Rest.kwargs,
    ) -> SinkT:
        """Return the sink of a format.

        Args:
            kind: the class of the sink.
            arguments: the arguments of the format.
            named: more of them, by name.
        """
        make: Callable[..., SinkT] = kind
        return make(
            self.naming,
            *arguments,
            num_shards=self.shards,
            compression_type=self.compression_type,
            diff_column=self.diff_column,
            windowed_writes=self.windowed_writes,
            **named,
        )
