"""The files by which a streaming run and the process that reads its sources tell each other something."""

from __future__ import annotations

from pathlib import Path

import attrs


@attrs.frozen
class ControlFiles:
    """The control files of a run.

    Attributes:
        directory: the directory of the run; it exists until the run has ended.
    """

    directory: Path

    @property
    def drain(self) -> Path:
        """Exists when the sources must advance their watermarks to the end of time."""
        return self.directory / "drain"

    @property
    def pause(self) -> Path:
        """Exists when the sources must offer nothing new."""
        return self.directory / "pause"

    @property
    def resumes(self) -> Path:
        """The processing time at which a restriction goes on, as of the last batch."""
        return self.directory / "resumes"

    @property
    def observed(self) -> Path:
        """The watermarks after the last batch of sources that the workers observe."""
        return self.directory / "observed"

    @property
    def delivered(self) -> Path:
        """The size of what the workers have read in the last batch."""
        return self.directory / "delivered"
