"""A user's exception comes back from a worker as it was; what Spark says badly is said clearly."""

import os
import pickle
import signal
import traceback
from collections.abc import Callable

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.errors import ElementError, HeadraceError, UnsupportedError
from headrace.runners.spark.cluster.error_transport import (
    LARGEST_ERROR,
    TransportError,
    WorkerDiedError,
    WorkerError,
    WorkerTraceback,
    unwrap,
    unwrapping,
    wrap,
    wrapping,
)
from headrace.sdk.pipelines.tracebacks import HiddenFrames


class MillError(Exception):
    """Not a subclass of any error of ours."""


class TwoPartError(Exception):
    """An error that is pickled, and cannot be unpickled: a common mistake."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} in {where}")


@attrs.define
class Open:
    """What cannot be pickled."""

    def __reduce__(self):
        raise TypeError("cannot pickle an open thing")


def mill_error(size: int = 0) -> MillError:
    error = MillError("the wheel stands still " + "é" * size, {"wheel": 3})
    error.add_note("in Grind/Map\nelement: 5")
    return error


def there_and_back(error: BaseException) -> BaseException | None:
    return unwrap(RuntimeError(f"java.lang.X: Traceback\n  {wrap(error)}\n\tat y(z.scala:1)"))


def test_type_arguments_and_notes_come_back() -> None:
    found = there_and_back(mill_error())
    assert type(found) is MillError
    assert found.args == ("the wheel stands still ", {"wheel": 3})
    assert found.__notes__ == ["in Grind/Map\nelement: 5"]


def test_an_error_of_ours_keeps_its_parts_and_notes() -> None:
    error = ElementError("no pair", where="Sum", remedy="make pairs")
    error.add_note("a note")
    found = there_and_back(error)
    assert isinstance(found, ElementError)
    assert (found.problem, found.where, found.remedy) == ("no pair", "Sum", "make pairs")
    assert found.__notes__ == ["a note"]


def test_the_workers_traceback_is_the_cause() -> None:
    def grind() -> None:
        try:
            {}["wheat"]  # type: ignore[index]
        except KeyError as missing:
            raise mill_error() from missing

    with pytest.raises(TransportError) as carried, wrapping():
        grind()
    found = unwrap(carried.value)
    assert isinstance(found, MillError)
    assert isinstance(found.__cause__, WorkerTraceback)
    shown = "".join(traceback.format_exception(found))
    assert "in grind" in shown
    assert "KeyError: 'wheat'" in shown


def test_the_workers_traceback_hides_frames_of_headrace_unless_all_are_asked_for() -> None:
    """The frames of the driver are hidden, too."""

    def grind(x: int) -> None:
        raise mill_error()

    with (
        pytest.raises(TransportError) as carried,
        wrapping(),
        hr.Pipeline(argv=["--full-traceback"]) as p,
    ):
        _ = p | hr.Create([1]) | hr.Map(grind)
    shown = {}
    for full in (False, True):
        with pytest.raises(MillError) as found, HiddenFrames(full), unwrapping():
            raise carried.value
        shown[full] = "".join(traceback.format_exception(found.value))
        assert "in grind" in shown[full]
    assert "headrace/runners" not in shown[False]
    assert "headrace/runners/calls/invoker.py" in shown[True]
    assert "headrace/runners/spark/cluster/error_transport.py" in shown[True]


@pytest.mark.parametrize(
    "error",
    [TwoPartError("sand", "flour"), MillError(Open()), MillError(os.urandom(LARGEST_ERROR + 1))],
    ids=["cannot be unpickled", "cannot be pickled", "too large"],
)
def test_what_cannot_travel_comes_back_as_text(error: Exception) -> None:
    error.add_note("in Grind/Map")
    found = there_and_back(error)
    assert isinstance(found, WorkerError)
    assert type(error).__name__ in str(found)
    assert "in Grind/Map" in str(found)
    assert len(str(found)) < 100_000


def test_what_is_wrapped_twice_is_wrapped_once() -> None:
    once = wrap(mill_error())
    assert wrap(once) is once
    with pytest.raises(TransportError) as found, wrapping():
        raise once
    assert found.value is once


def test_an_error_of_ours_can_be_pickled() -> None:
    found = pickle.loads(pickle.dumps(WorkerDiedError("died", where="here", remedy="more memory")))
    assert isinstance(found, HeadraceError)
    assert found.where == "here"


def test_an_error_that_quotes_another_ones_mark() -> None:
    found = there_and_back(MillError("<headrace-error AAAA>"))
    assert isinstance(found, MillError)
    assert unwrap(RuntimeError("<headrace-error AAAA>")) is None


def test_leaving_the_program_is_carried_as_well() -> None:
    with pytest.raises(TransportError) as carried, wrapping():
        raise SystemExit(3)
    found = unwrap(carried.value)
    assert isinstance(found, SystemExit)
    assert found.code == 3


def test_what_spark_says_of_other_things_is_left_alone() -> None:
    assert unwrap(RuntimeError("the disk is full")) is None
    with pytest.raises(RuntimeError, match="disk"), unwrapping():
        raise RuntimeError("the disk is full")


# ------------------------------------------------------------------------------------------- through Spark


def failing(size: int = 0) -> Callable:
    def fail(batches):
        with wrapping():
            for batch in batches:
                raise mill_error(size) from KeyError(batch.num_rows)
            yield from ()  # a partition may have no rows

    return fail


def killed(batches):
    os.kill(os.getpid(), signal.SIGKILL)
    yield from batches


def collect(frame: DataFrame) -> None:
    frame.collect()


def write(frame: DataFrame) -> None:
    frame.write.format("noop").mode("append").save()


def iterate(frame: DataFrame) -> None:
    list(frame.toLocalIterator())


def of_rdd(frame: DataFrame) -> None:
    frame.rdd.count()


@pytest.mark.parametrize("action", [collect, write, iterate, of_rdd])
def test_batch(spark: SparkSession, action: Callable[[DataFrame], None]) -> None:
    frame = spark.range(1).mapInArrow(failing(100), "id long")
    with pytest.raises(MillError, match="the wheel stands still") as found, unwrapping():
        action(frame)
    assert found.value.__notes__ == ["in Grind/Map\nelement: 5"]
    assert "KeyError" in str(found.value.__cause__)


def test_a_long_message_comes_whole(spark: SparkSession) -> None:
    size = LARGEST_ERROR // 2 - 1000
    frame = spark.range(1).mapInArrow(failing(size), "id long")
    with pytest.raises(MillError) as found, unwrapping():
        frame.collect()
    assert found.value.args[0].endswith("é" * size)


def run_stream(spark: SparkSession, directory, function: Callable, each: Callable | None = None):
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load().select("value")
    stream = rows.mapInArrow(function, "value long").writeStream
    stream = stream.option("checkpointLocation", str(directory))
    query = (stream.foreachBatch(each) if each else stream.format("noop")).start()
    with unwrapping():
        try:
            query.awaitTermination(60)
        finally:
            query.stop()


def test_streaming(spark: SparkSession, tmp_path) -> None:
    with pytest.raises(MillError) as found:
        run_stream(spark, tmp_path, failing())
    assert found.value.__notes__ == ["in Grind/Map\nelement: 5"]


def test_streaming_by_batches(spark: SparkSession, tmp_path) -> None:
    with pytest.raises(MillError) as found:
        run_stream(spark, tmp_path, failing(), lambda frame, number: frame.collect())
    assert found.value.__notes__ == ["in Grind/Map\nelement: 5"]


def test_on_the_driver_for_each_batch(spark: SparkSession, tmp_path) -> None:
    def each(frame: DataFrame, number: int) -> None:
        with wrapping():
            raise mill_error()

    with pytest.raises(MillError):
        run_stream(spark, tmp_path, lambda batches: batches, each)


def test_a_worker_that_is_killed(spark: SparkSession, tmp_path) -> None:
    frame = spark.range(1).mapInArrow(killed, "id long")
    with pytest.raises(WorkerDiedError, match="was killed or crashed") as found, unwrapping():
        frame.collect()
    assert "executor driver" in found.value.where
    with pytest.raises(WorkerDiedError):
        run_stream(spark, tmp_path, killed)


def test_workers_with_another_python(spark: SparkSession, monkeypatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.7")
    with pytest.raises(UnsupportedError, match="functions cannot be sent"), unwrapping():
        spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
    with pytest.raises(UnsupportedError, match="functions cannot be sent"), unwrapping():
        spark.sparkContext.parallelize([1], 1).map(lambda x: x).collect()
