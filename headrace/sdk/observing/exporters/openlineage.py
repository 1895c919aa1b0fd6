"""Run events of OpenLineage: what a run reads and writes, when it starts, and how it ends."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from headrace.errors import PipelineError
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import Round, RunOutline, StepOutline
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.packages import require_for
from headrace.sdk.pipelines.result import PipelineState

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient

_LOG: Final = logging.getLogger(__name__)

_PRODUCER: Final = "https://pypi.org/project/headrace/"

_RETRY: Final = {
    "total": 2,
    "backoff_factor": 0.3,
    "status_forcelist": [500, 502, 503, 504],
    "allowed_methods": ["POST"],
}
"""Maximum number of times an event is sent again; low, since the run waits for it."""

_END_EVENTS: Final = {PipelineState.DONE: "COMPLETE", PipelineState.CANCELLED: "ABORT"}
"""The event at the end of a run by its state; FAIL for others."""


class OpenLineageObserver(RunObserver):
    """Sends run events to a server of OpenLineage: START, then COMPLETE, FAIL or ABORT.

    The datasets are the places that sources read and sinks write, if they say so. The last event has the
    number of their rows. An event that cannot be sent is logged, and the run goes on.

    Args:
        url: URL of the server; by default the client's own configuration, such as ``OPENLINEAGE_URL``.

    Raises:
        PipelineError: ``openlineage-python`` is not installed, or the URL is not valid.

    >>> OpenLineageObserver("http://localhost:5000").wants_samples
    False
    """

    def __init__(self, url: str = "") -> None:
        require_for("--openlineage")
        self._client = _client(url)
        self._run: RunOutline | None = None
        self._steps: dict[str, StepMetrics] = {}

    def start(self, run: RunOutline) -> None:
        """Send START."""
        self._run, self._steps = run, {}
        self._send("START")

    def round(self, done: Round) -> None:
        """Note the metrics of a round."""
        self._steps = dict(done.totals.steps)

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Send COMPLETE, ABORT or FAIL."""
        self._send(_END_EVENTS.get(state, "FAIL"), error)

    def _send(self, kind: str, error: BaseException | None = None) -> None:
        if self._run is None:
            return
        try:
            self._client.emit(_event(kind, self._run, self._steps, error))
        except Exception as problem:  # of the network; the run goes on
            _LOG.warning("the event %s was not sent to OpenLineage: %s", kind, problem)


def _client(url: str) -> OpenLineageClient:
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.http import HttpConfig, HttpTransport, create_token_provider

    if not url:
        return OpenLineageClient()
    key = os.environ.get("OPENLINEAGE_API_KEY")
    token = create_token_provider({"type": "api_key", "apiKey": key} if key else {})
    try:
        config = HttpConfig(url, auth=token, retry=_RETRY)
        return OpenLineageClient(transport=HttpTransport(config))
    except ValueError as error:
        raise PipelineError(
            f"--openlineage {url!r} is not a URL",
            remedy="use the URL of a server, such as http://localhost:5000",
        ) from error


def _event(
    kind: str, run: RunOutline, steps: dict[str, StepMetrics], error: BaseException | None
) -> Any:
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import job_type_job

    mode = "STREAMING" if run.streaming else "BATCH"
    job_type = job_type_job.JobTypeJobFacet(mode, "HEADRACE", "PIPELINE", producer=_PRODUCER)
    name = os.environ.get("OPENLINEAGE_NAMESPACE", "default"), run.job
    return RunEvent(
        eventType=RunState[kind],
        eventTime=datetime.now(UTC).isoformat(),
        run=Run(str(UUID(run.name)), _run_facets(run, error)),
        job=Job(*name, {"jobType": job_type}),
        inputs=[_input(step, steps) for step in _with_places(run, "Read")],
        outputs=[_output(step, steps) for step in _with_places(run, "Write")],
        producer=_PRODUCER,
    )


def _run_facets(run: RunOutline, error: BaseException | None) -> dict[str, Any]:
    from importlib.metadata import version

    from openlineage.client.facet_v2 import error_message_run, processing_engine_run

    engine = processing_engine_run.ProcessingEngineRunFacet(
        version("headrace"), f"headrace ({run.runner})", producer=_PRODUCER
    )
    if error is None:
        return {"processing_engine": engine}
    text = "".join(traceback.format_exception(error))
    failure = error_message_run.ErrorMessageRunFacet(str(error), "PYTHON", text, producer=_PRODUCER)
    return {"processing_engine": engine, "errorMessage": failure}


def _with_places(run: RunOutline, kind: str) -> Iterator[StepOutline]:
    return (step for step in run.steps if step.kind == kind and step.place)


def _input(step: StepOutline, steps: dict[str, StepMetrics]) -> Any:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import input_statistics_input_dataset as statistics

    known = steps.get(step.label)
    if known is None:
        return InputDataset(*dataset_name(step.place))
    rows = statistics.InputStatisticsInputDatasetFacet(known.elements_out, producer=_PRODUCER)
    return InputDataset(*dataset_name(step.place), {"inputStatistics": rows})


def _output(step: StepOutline, steps: dict[str, StepMetrics]) -> Any:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    known = steps.get(step.label)
    if known is None:
        return OutputDataset(*dataset_name(step.place))
    rows = statistics.OutputStatisticsOutputDatasetFacet(known.elements_in, producer=_PRODUCER)
    return OutputDataset(*dataset_name(step.place), {"outputStatistics": rows})


def dataset_name(place: str) -> tuple[str, str]:
    """Return namespace and name of a dataset at a URL, or in a file of this machine.

    >>> dataset_name("s3://mill/sacks/2026"), dataset_name("/mill/sacks.csv")
    (('s3://mill', 'sacks/2026'), ('file', '/mill/sacks.csv'))
    >>> dataset_name("postgresql://miller:secret@db:5432/mill/public.sacks")
    ('postgresql://db:5432', 'mill/public.sacks')
    """
    parts = urlsplit(place)
    if "://" not in place or parts.scheme == "file":
        return "file", str(Path(parts.path if parts.scheme == "file" else place).absolute())
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}", parts.path.lstrip("/") or "/"
