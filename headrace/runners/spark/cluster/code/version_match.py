"""Checks that pyspark, the JVM that it drives, and the cluster are of one minor version of Spark.

Otherwise Spark waits for a minute, or fails with the name of a Java class.
"""

from __future__ import annotations

import os
import re
import urllib.request
from typing import Any, Final

import pyspark

from headrace.errors import UnsupportedError
from headrace.runners.spark.cluster.spark_versions import minor

_WEB_PORT: Final = 8080
"""Default port of the web interface of a standalone master."""

_TIMEOUT: Final = 2.0
"""Seconds to wait for the web interface."""

_NOT_ACCEPTED: Final = "stopped SparkContext"


def check_jvm(jvm: object) -> None:
    """Check that the JVM runs the Spark of this pyspark.

    Raises:
        UnsupportedError: the minor versions differ, as with SPARK_HOME of another Spark.
    """
    found = _jvm_version(jvm)
    if found is not None and minor(found) != minor(pyspark.__version__):
        home = os.environ.get("SPARK_HOME")
        raise UnsupportedError(
            f"pyspark {pyspark.__version__} drives a JVM with Spark {found}",
            where=f"SPARK_HOME={home}" if home else "the JVM",
            remedy=f"pip install pyspark=={found}, or unset SPARK_HOME",
        )


def check_master(master: str) -> None:
    """Check the version of a standalone master, if its web interface can be asked.

    Raises:
        UnsupportedError: the master is of another minor version.
    """
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        found = _master_version(address)
        if found is not None and minor(found) != minor(pyspark.__version__):
            raise _other_spark(f"the cluster runs Spark {found}", found, master)


def not_started(error: Exception, master: str) -> UnsupportedError:
    """Return the error for a session that Spark could not create."""
    text = str(error)
    if master.startswith("spark://") and _NOT_ACCEPTED in text:
        return _other_spark("the master did not accept this program: it probably runs", "", master)
    return UnsupportedError(
        f"Spark does not start: {text.splitlines()[0]}",
        where=f"master {master}",
        remedy="see Spark's error above, and check --spark-master and --spark-conf",
    )


def _other_spark(problem: str, found: str, master: str) -> UnsupportedError:
    own = pyspark.__version__
    text = f"{problem}, and the driver {own}" if found else f"{problem} another Spark than {own}"
    return UnsupportedError(
        text,
        where=f"master {master}",
        remedy=f"install the cluster's version on the driver: pip install pyspark=={found or 'VERSION'}",
    )


def _jvm_version(jvm: Any) -> str | None:
    """Return the version of Spark in a JVM; None if it cannot be found out."""
    try:
        info = getattr(getattr(jvm.org.apache.spark, "SparkBuildInfo$"), "MODULE$")
        return str(info.spark_version())
    except Exception:  # py4j raises many kinds; the check is not worth a failure
        return None


def _master_version(address: str) -> str | None:
    """Return the version that the web interface of a master shows; None if there is none."""
    host = address.rpartition(":")[0]
    port = os.environ.get("SPARK_MASTER_WEBUI_PORT", str(_WEB_PORT))
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/", timeout=_TIMEOUT) as answer:
            page = answer.read(1 << 16).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    found = re.search(r'class="version[^"]*">\s*(\d+\.\d+[\w.-]*)', page)
    return found[1] if found and f"spark://{address}" in page else None
