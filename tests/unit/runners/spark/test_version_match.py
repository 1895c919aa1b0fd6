"""pyspark, its JVM and the cluster are of one minor version of Spark; else an error names both."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pyspark
import pytest

from headrace.errors import UnsupportedError
from headrace.runners.spark.cluster.code.version_match import check_jvm, check_master, not_started


def jvm(version: str) -> SimpleNamespace:
    info = SimpleNamespace(**{"MODULE$": SimpleNamespace(spark_version=lambda: version)})
    spark = SimpleNamespace(**{"SparkBuildInfo$": info})
    return SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark)))


@pytest.fixture
def master(monkeypatch):
    """Serve the page of a master; return a function from a version to the master's URL."""
    pages: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(pages[-1].encode())

        def log_message(self, *args) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("SPARK_MASTER_WEBUI_PORT", str(server.server_port))

        def serve(version: str, url: str = "spark://127.0.0.1:7077") -> str:
            pages.append(
                f'<title>Spark Master at {url}</title><span class="version me-3">{version}</span>'
            )
            return "spark://127.0.0.1:7077"

        yield serve
        server.shutdown()


def test_the_same_spark(master) -> None:
    check_jvm(jvm(pyspark.__version__))
    check_jvm(SimpleNamespace())
    check_master(master(pyspark.__version__))
    check_master("local[2]")


def test_a_jvm_of_another_spark(monkeypatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with pytest.raises(UnsupportedError, match=r"drives a JVM with Spark 3\.9\.1") as error:
        check_jvm(jvm("3.9.1"))
    assert error.value.where == "SPARK_HOME=/opt/spark"
    assert "pip install pyspark==3.9.1" in error.value.remedy


def test_a_cluster_of_another_spark(master) -> None:
    with pytest.raises(
        UnsupportedError, match=r"the cluster runs Spark 3\.9\.1, and the driver"
    ) as e:
        check_master(master("3.9.1"))
    assert "pip install pyspark==3.9.1" in e.value.remedy


def test_the_page_of_another_master_says_nothing(master) -> None:
    check_master(master("3.9.1", "spark://elsewhere:7077"))


def test_a_master_that_does_not_answer_the_program() -> None:
    error = not_started(Exception("Cannot call methods on a stopped SparkContext."), "spark://m:1")
    assert "probably runs another Spark than" in error.problem
    assert (
        not_started(Exception("no space\nat x"), "local").problem
        == "Spark does not start: no space"
    )
