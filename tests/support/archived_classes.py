"""A home of Java for tests: it starts Spark's JVMs with classes from an archive.

In its first seconds a JVM of Spark finds, parses and verifies thousands of classes. Java reads them faster
from an archive that an earlier JVM wrote (class data sharing), if the class path is the same. Each local
session has a directory with links to the jars (:mod:`headrace.runners.spark.cluster.spark_home`), so the
``java`` of this home names the jars themselves. It starts all other programs as the real Java does.

``python -m tests.support.archived_classes`` makes the home in the virtual environment; tests also run
without it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

HOME = Path(sys.prefix) / "java-of-tests"

JAVA_HOME = "JAVA_HOME"

SCRIPT = """\
#!/usr/bin/env bash
# Java for tests, with the classes of an archive: see tests/support/archived_classes.py.
jars={jars}
flags=()
arguments=()
for argument in "$@"; do
    if [[ $argument == */jars/slf4j-api-*.jar:* ]]; then
        home=${{argument%%/jars/slf4j-api-*}}
        home=${{home##*:}}
        if [ "$(readlink -f "$home/jars")" = "$jars" ]; then
            argument=${{argument#"$home/conf/:"}}
            argument=${{argument//"$home/jars"/"$jars"}}
            flags=({flags})
        fi
    fi
    arguments+=("$argument")
done
exec {java} "${{flags[@]}}" "${{arguments[@]}}"
"""

USE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile={archive} -Xlog:disable"
"""If the archive does not suit the class path, Java starts as usual, and says nothing."""

MAKE = "-XX:ArchiveClassesAtExit={archive} -Xlog:disable -Xlog:all=off"

ROUNDS = 3
"""The number of micro-batches of the run that makes the archive."""


def use(environment: MutableMapping[str, str], home: Path = HOME) -> None:
    """Let programs start Java from the home, unless they have another one."""
    if (home / "bin/java").exists():
        environment.setdefault(JAVA_HOME, str(home))


def make(home: Path = HOME) -> None:
    """Make the home, with the classes that the program of the fault tests loads."""
    from tests.faults.run_and_kill import PROGRAM, run_program

    archive, java = home / "classes.jsa", _real_java()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch, "java")
        write_java(first, java, MAKE, archive)
        code = run_program(Path(scratch, "run"), rounds=ROUNDS, variables={JAVA_HOME: str(first)})
        assert code == 0, f"{PROGRAM} fails"
    write_java(home, java, USE, archive)


def _real_java() -> str:
    home = os.environ.get(JAVA_HOME)
    java = shutil.which(f"{home}/bin/java" if home else "java")
    assert java is not None, "Java is not installed"
    return java


def write_java(home: Path, java: str, flags: str, archive: Path) -> None:
    """Write the program ``java`` of a home; it adds the flags if the class path is that of our Spark."""
    import pyspark

    jars = Path(pyspark.__file__).resolve().parent / "jars"
    script = SCRIPT.format(
        jars=shlex.quote(str(jars)),
        java=shlex.quote(java),
        flags=flags.format(archive=shlex.quote(str(archive))),
    )
    program = home / "bin/java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(script)
    program.chmod(0o755)


if __name__ == "__main__":
    make()
