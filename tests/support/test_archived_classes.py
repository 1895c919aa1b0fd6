"""The Java of the tests adds an archive for the jars of this Spark, and changes no other command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyspark

from tests.support.archived_classes import JAVA_HOME, USE, use, write_java

JARS = Path(pyspark.__file__).resolve().parent / "jars"


def started(home: Path, *arguments: str) -> list[str]:
    """What the real Java gets."""
    real = home.parent / "real java"
    real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    real.chmod(0o755)
    write_java(home, str(real), USE, home / "the archive.jsa")
    done = subprocess.run([home / "bin/java", *arguments], capture_output=True, text=True)
    return done.stdout.splitlines()


def test_a_session_gets_the_archive_and_the_jars_behind_its_links(tmp_path: Path) -> None:
    links = tmp_path / "spark home"
    links.mkdir()
    (links / "jars").symlink_to(JARS)
    path = f"{links}/conf/:{links}/jars/slf4j-api-2.0.jar:{links}/jars/*"
    assert started(tmp_path / "java", "-cp", path, "-Dx=a b", "Main") == [
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        f"-XX:SharedArchiveFile={tmp_path}/java/the archive.jsa",
        "-Xlog:disable",
        "-cp",
        f"{JARS}/slf4j-api-2.0.jar:{JARS}/*",
        "-Dx=a b",
        "Main",
    ]


def test_other_commands_are_those_of_java(tmp_path: Path) -> None:
    other = tmp_path / "other/jars"
    other.mkdir(parents=True)
    commands = (["-version"], ["-cp", f"{other}/slf4j-api-2.0.jar:{other}/*", "Main", "a  b"])
    for command in commands:
        assert started(tmp_path / "java", *command) == command


def test_a_home_of_the_user_is_kept(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    use(environment, tmp_path)
    assert environment == {}
    started(tmp_path)
    use(environment, tmp_path)
    assert environment == {JAVA_HOME: str(tmp_path)}
    mine = {JAVA_HOME: "mine"}
    use(mine, tmp_path)
    assert mine == {JAVA_HOME: "mine"}
