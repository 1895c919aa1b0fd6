"""A process that runs drawn pipelines on a Beam runner, and that can be stopped if one does not end."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from headrace.errors import HeadraceError, PipelineError
from headrace.sdk.beam.judge.in_beam import beam, pickler
from headrace.sdk.beam.judge.playing import RunsPanes, play
from headrace.sdk.testing.runs.run import Run

STARTING: Final = 300.0
"""Seconds in which a worker has to start."""

STALL: Final = "exceptions must derive from BaseException"
"""The error that Beam's bundle-based runner raises when it means to report a stall."""


class RunFailedError(HeadraceError):
    """A Beam runner failed to run a drawn pipeline."""


class NotEndedError(HeadraceError):
    """A drawn pipeline did not end in time."""


class RunnerProcess:
    """A process that runs drawn pipelines, one after the other, on one Beam runner.

    Args:
        runner: a Beam runner, as an object that can be pickled or by name.
        options: further options of its pipelines.
        limit: seconds in which a pipeline has to end.

    Raises:
        PipelineError: the runner cannot be pickled.
    """

    def __init__(self, runner: Any, options: Sequence[str], limit: float) -> None:
        self._job = _pickled(runner, options)
        self._limit = limit
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = ThreadPoolExecutor(1)

    def play(self, run: Run, streaming: bool) -> RunsPanes:
        """Run a drawn pipeline, and return the panes of its groupings.

        Raises:
            RunFailedError: the runner failed.
            NotEndedError: it did not end in time.
        """
        process = self._process or self._start()
        pickle.dump((run, streaming), process.stdin)  # type: ignore[arg-type]
        process.stdin.flush()  # type: ignore[union-attr]
        try:
            panes, error = self._answer(process, self._limit)
        except TimeoutError:
            self.close(at_once=True)
            raise NotEndedError(
                f"the pipeline did not end in {self._limit:g} seconds",
                remedy="run the program, and look at what the runner waits for",
            ) from None
        except EOFError:
            self.close(at_once=True)
            panes, error = [], "the process of the runner ended"
        if error:
            raise RunFailedError(
                error, remedy="run the program; the traceback shows the failing line"
            )
        found: RunsPanes = panes
        return found

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        pickle.dump(self._job, self._process.stdin)  # type: ignore[arg-type]
        self._process.stdin.flush()  # type: ignore[union-attr]
        self._answer(self._process, STARTING)
        return self._process

    def _answer(self, process: subprocess.Popen[bytes], limit: float) -> Any:
        answer: Future[Any] = self._reader.submit(pickle.load, process.stdout)  # type: ignore[arg-type]
        return answer.result(limit)

    def close(self, at_once: bool = False) -> None:
        """End the process, and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if not at_once:
            process.stdin.close()  # type: ignore[union-attr]
            at_once = not _ends(process)
        if at_once:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            pipe.close()  # type: ignore[union-attr]

    def __enter__(self) -> RunnerProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self._reader.shutdown()


def _ends(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        return False
    return True


def _pickled(runner: Any, options: Sequence[str]) -> tuple[Any, list[str]]:
    try:
        return pickler().dumps(runner), list(options)
    except Exception as error:
        raise PipelineError(
            f"the runner {runner!r} cannot be pickled: {error}",
            remedy="give the name of its class instead, as in 'package.module.Runner'",
        ) from error


# ------------------------------------------------------------------------------------- in the process


def main() -> None:
    """Run the pipelines that come through the standard input, until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a runner prints is not an answer
    requests = sys.stdin.buffer
    pickled, options = pickle.load(requests)
    beam()
    _send(answers, None)
    while True:
        try:
            run, streaming = pickle.load(requests)
        except EOFError:
            return
        _send(answers, _played(pickled, run, streaming, options))


def _send(answers: Any, answer: object) -> None:
    pickle.dump(answer, answers)
    answers.flush()


def _played(
    pickled: Any, run: Run, streaming: bool, options: Sequence[str]
) -> tuple[RunsPanes, str]:
    try:
        return play(run, pickler().loads(pickled), streaming, options), ""
    except Exception as error:  # whatever stops a runner is its answer
        return [], first_line(error)


def first_line(error: Exception) -> str:
    r"""Return the error with which a runner stopped, in one line.

    >>> first_line(ValueError("one\n  two"))
    'ValueError: one two'
    """
    if STALL in str(error):
        return "the runner stops as stalled: something holds the watermark for good"
    message = str(error.details()) if hasattr(error, "details") else str(error)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    relevant = lines[-1:] if "Traceback" in message else lines[:4]
    return f"{type(error).__name__}: {' '.join(relevant)}"[:240]


if __name__ == "__main__":
    main()
