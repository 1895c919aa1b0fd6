"""A Kafka broker of the tests' own, on loopback, from Maven Central: one process in KRaft mode, no docker.

Maven fetches the jars once into its own repository. Topics are made when they are first written to.
"""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.repository import ROOT
from tests.support.services.certificates import Certificates
from tests.support.services.ports import free_port

NOT_INSTALLED = (
    "Kafka is started from jars that Maven fetches: apt-get install maven openssl (and Java)"
)

PARTITIONS = 3
"""So many partitions each topic has."""

BROKER = ["org.apache.kafka:kafka_2.13:4.1.2", "org.slf4j:slf4j-simple:1.7.36"]

CONNECTOR = [
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
]
"""Spark's connector as it is in Maven Central; it works with Spark 4.3."""

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>headrace</groupId><artifactId>tests</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{}</dependencies></project>"""

ALONE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

USER, PASSWORD = "quay", "a-password-of-the-broker"
"""Who may log in at the address for SASL."""

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},SASL://127.0.0.1:{sasl},\
  FAR://127.0.0.1:{far},TLS://127.0.0.1:{tls}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},FAR://127.0.0.1:{proxy},\
  TLS://127.0.0.1:{tls}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,FAR:PLAINTEXT,\
  SASL:SASL_PLAINTEXT,TLS:SSL
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config={login} required user_{user}="{password}";
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location={certificates.server}
listener.name.tls.ssl.truststore.type=PEM
listener.name.tls.ssl.truststore.location={certificates.authority}
listener.name.tls.ssl.client.auth=required
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
num.partitions={partitions}
auto.create.topics.enable={auto_create}
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
log.retention.hours=-1
log.cleaner.dedupe.buffer.size=8388608
"""


def is_installed() -> bool:
    """Whether there are Maven, Java and openssl."""
    return all(map(shutil.which, ("mvn", "java", "openssl")))


def fetch(artifacts: Sequence[str], folder: Path, alone: bool = False) -> list[Path]:
    """The jars of artifacts, and of what they need unless they come alone."""
    folder.mkdir(parents=True, exist_ok=True)
    pom = folder / "pom.xml"
    pom.write_text(POM.format("".join(_dependency(a, alone) for a in artifacts)))
    goal = [COPY, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    subprocess.run(["mvn", "-B", "-q", "-f", pom, *goal], check=True, timeout=300)
    return sorted(folder.glob("*.jar"))


def _dependency(artifact: str, alone: bool) -> str:
    group, name, version = artifact.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version>{ALONE if alone else ''}</dependency>"
    )


class Broker:
    """A broker in a folder of its own, which can be killed and started again with its data.

    Args:
        folder: an empty folder.
        auto_create: whether topics are made when they are first written to or asked for.
        proxy: the port of a proxy to ``far_port``, through which clients talk that start there.
    """

    def __init__(self, folder: Path, auto_create: bool = True, proxy: int = 0) -> None:
        self.folder = folder
        self.port, self.sasl_port, controller = free_port(), free_port(), free_port()
        self.far_port, self.tls_port = free_port(), free_port()
        self.certificates = Certificates.made(folder)
        self._properties = folder / "server.properties"
        self._properties.write_text(
            PROPERTIES.format(
                port=self.port,
                controller=controller,
                sasl=self.sasl_port,
                far=self.far_port,
                tls=self.tls_port,
                certificates=self.certificates,
                proxy=proxy or self.far_port,
                login="org.apache.kafka.common.security.plain.PlainLoginModule",
                user=USER,
                password=PASSWORD,
                folder=folder,
                partitions=PARTITIONS,
                auto_create=str(auto_create).lower(),
            )
        )
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "-c", str(self._properties)]
        tool.append(f"--cluster-id={cluster}")  # an id may begin with a dash
        assert _java(folder, tool).wait(60) == 0, _log(folder)
        self.process = self._start()

    @property
    def address(self) -> str:
        """Host and port, as clients need them."""
        return f"127.0.0.1:{self.port}"

    @property
    def sasl_address(self) -> str:
        """Host and port for clients that log in as the user with the password (SASL, PLAIN)."""
        return f"127.0.0.1:{self.sasl_port}"

    @property
    def tls_address(self) -> str:
        """Host and port for clients with TLS and a certificate."""
        return f"127.0.0.1:{self.tls_port}"

    def kill(self) -> None:
        """End the process at once, as a crash does."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Kill the process if it runs, and start it again with its data."""
        self.kill()
        self.process = self._start()

    def pids(self) -> list[int]:
        """The processes of the broker: one."""
        return [self.process.pid]

    def _start(self) -> subprocess.Popen[bytes]:
        server = _java(self.folder, ["kafka.Kafka", str(self._properties)])
        _wait_for(self.port, server, self.folder)
        return server


@contextmanager
def broker(auto_create: bool = True, proxy: int = 0) -> Iterator[Broker]:
    """A new, empty broker, which is gone afterwards."""
    with TemporaryDirectory(prefix="headrace-kafka-") as name:
        started = Broker(Path(name), auto_create, proxy)
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def running() -> Iterator[str]:
    """The address of a new, empty broker, which is gone afterwards."""
    with broker() as started:
        yield started.address


@cache
def broker_jars() -> Path:
    """The folder with the broker's jars, fetched once for a checkout."""
    jars = ROOT / "out" / "kafka-jars" / BROKER[0].rpartition(":")[2]
    fetch_once(BROKER, jars)
    return jars


def fetch_once(artifacts: Sequence[str], jars: Path, alone: bool = False) -> None:
    """Fetch artifacts into a folder, if it does not exist."""
    if not jars.exists():
        jars.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=jars.parent) as name:
            fetch(artifacts, Path(name, "jars"), alone)
            with suppress(OSError):  # another process was faster
                Path(name, "jars").rename(jars)


def _java(folder: Path, command: list[str]) -> subprocess.Popen[bytes]:
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{broker_jars()}/*"]
    env = {key: value for key, value in os.environ.items() if key != "JAVA_TOOL_OPTIONS"}
    with open(folder / "log", "ab") as log:
        return subprocess.Popen([*java, *command], stdout=log, stderr=log, env=env)


def _log(folder: Path) -> str:
    return (folder / "log").read_text()


def _wait_for(
    port: int, server: subprocess.Popen[bytes], folder: Path, seconds: float = 60
) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, _log(folder)
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(_log(folder))
