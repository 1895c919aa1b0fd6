"""How transforms read files, whatever the format."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.opening import require_existing
from headrace.sdk.io.matching.watched_files import WatchedFiles
from headrace.sdk.sources.reading import Read
from headrace.windowing.watermarks.policies import WatermarkPolicy


def _check_watch(options: ReadOptions, field: object, watch: float) -> None:
    if watch is not False and not watch > 0:
        raise PipelineError(f"watch is {watch}", remedy="use True, or a number of seconds above 0")


@attrs.frozen
class ReadOptions:
    """The arguments that the readers of all formats share.

    Attributes:
        validate: whether to raise an error if a pattern matches no file now. Without an effect if the
            transform waits for new files.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.
    """

    validate: bool = True
    watermark: WatermarkPolicy | None = None
    watch: bool | float = attrs.field(default=False, validator=_check_watch)

    @property
    def is_endless(self) -> bool:
        """Whether the transform waits for new files."""
        return self.watch is not False

    def read(self, files: FileSource) -> Read[Any]:
        """Return the transform that reads files.

        Raises:
            FileError: a pattern matches no file.
        """
        if self.is_endless:
            return Read(WatchedFiles(files, float(self.watch)), self.watermark)  # True is 1 second
        if self.validate:
            require_existing(files.patterns)
        return Read(files, self.watermark)
