"""The small examples on Spark: the same results of plain Python as on the local runner, also after a kill."""

import subprocess
import sys
from pathlib import Path

import pytest
from orders_join import read_books

from tests.conftest import ON_SPARK
from tests.docs.examples import (
    test_delete_person as delete_person,
    test_fraud_sessions as fraud_sessions,
    test_gaming as gaming,
    test_laws_for_your_pipeline as laws_for_your_pipeline,
    test_nexmark as nexmark,
    test_nexmark_benchmark as nexmark_benchmark,
    test_orders_join as orders_join,
    test_sensors as sensors,
)
from tests.docs.examples.conftest import EXAMPLES
from tests.faults.days import by_day, on_days

pytestmark = ON_SPARK

KILL_ONCE = EXAMPLES.parent / "tools" / "kill_once.py"
FLAGS = ["--runner=spark", "--key-groups=2", "--batch-seconds=0"]


@by_day(0)
@pytest.mark.usefixtures("spark")
def test_fraud_sessions_while_files_are_written(tmp_path: Path) -> None:
    fraud_sessions.check_live(tmp_path, *FLAGS)


@by_day(1)
@pytest.mark.usefixtures("spark")
def test_sensors_in_streaming_mode(tmp_path: Path) -> None:
    sensors.check_streaming(tmp_path, *FLAGS, "--max-records-per-batch=90")


@by_day(2)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", [[], ["--streaming"]])
def test_a_person_is_deleted(mode: list[str], tmp_path: Path) -> None:
    delete_person.check(tmp_path, *mode, *FLAGS, "--max-records-per-batch=200")


@by_day(3)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "streaming"])
def test_all_queries_of_nexmark(streaming: bool, tmp_path: Path) -> None:
    nexmark.check_all(
        tmp_path, streaming, [5, 6, 7, 9, 15, 19], "--max-records-per-batch=1500", *FLAGS
    )


@by_day(4)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", [[], ["--streaming", "--max-records-per-batch=2500"]])
def test_queries_of_nexmark_on_columns(mode: list[str], tmp_path: Path) -> None:
    nexmark_benchmark.check_columns(tmp_path, *mode, *FLAGS)


@by_day(5)
@pytest.mark.usefixtures("spark")
def test_all_jobs_of_the_game_as_a_job(tmp_path: Path) -> None:
    gaming.check_all(tmp_path, *FLAGS)


@by_day(6)
@pytest.mark.usefixtures("spark")
def test_the_jobs_of_the_game_in_streaming_mode(tmp_path: Path) -> None:
    gaming.check_all(tmp_path, "--streaming", "--max-records-per-batch=750", *FLAGS)


@by_day(7)
@pytest.mark.usefixtures("spark")
def test_best_of_teams() -> None:
    found = laws_for_your_pipeline.best_on("spark", "--key-groups=2")
    assert found == laws_for_your_pipeline.expected_best()


@by_day(8)
def test_a_dataframe(spark, tmp_path: Path) -> None:
    from dataframe_in_and_out import growing_visits, views, visits_of

    from tests.docs.examples.test_dataframe_in_and_out import expected_visits

    frame = spark.createDataFrame(views(), "visitor STRING, second LONG, page STRING")
    visits = visits_of(frame)
    assert visits.columns == ["visitor", "begin", "pages", "path"]
    assert sorted(tuple(row) for row in visits.collect()) == expected_visits()

    frame.write.parquet(str(tmp_path / "views"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "views"))
    sizes: dict[int, int] = {}
    growing = growing_visits(stream, sizes)
    assert sorted(tuple(row) for row in growing.collect()) == expected_visits()
    assert sum(sizes.values()) == len(expected_visits())


@pytest.mark.slow
@pytest.mark.chaos
@on_days(6)
def test_orders_join_is_killed_and_resumed(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    kill_once = [sys.executable, str(KILL_ONCE), "--after=1", str(checkpoint), "--"]
    job = [sys.executable, str(EXAMPLES / "orders_join.py"), f"--directory={tmp_path}", *FLAGS]
    flags = ["--streaming", "--max-records-per-batch=60", "--spark-master=local[2]"]
    command = [*kill_once, *job, *flags, f"--checkpoint={checkpoint}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Killed with SIGKILL after batch" in done.stdout
    assert read_books(tmp_path) == orders_join.expected_books()
