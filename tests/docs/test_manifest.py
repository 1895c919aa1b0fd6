"""The manifest for the Spark operator has names that its API knows, and those that it requires.

The names are from the models of the API (the package kubeflow-spark-api), which validated the manifest.
"""

import yaml

from tests.docs.doc_pages import blocks
from tests.support.repository import ROOT

SPEC = {
    "type",
    "pythonVersion",
    "mode",
    "image",
    "mainApplicationFile",
    "arguments",
    "sparkVersion",
    "restartPolicy",
    "sparkConf",
    "driver",
    "executor",
}
RETRIES = {
    "type",
    "onFailureRetries",
    "onFailureRetryInterval",
    "onSubmissionFailureRetries",
    "onSubmissionFailureRetryInterval",
}
POD = {"cores", "coreLimit", "memory", "memoryOverhead", "serviceAccount"}


def test_the_manifest_of_the_operator() -> None:
    page = ROOT / "docs" / "how-to" / "deploy" / "kubernetes.md"
    (text,) = (block.text for block in blocks(page) if block.language == "yaml")
    found = yaml.safe_load(text)
    assert found["apiVersion"] == "sparkoperator.k8s.io/v1beta2"
    assert found["kind"] == "SparkApplication"
    spec = found["spec"]
    assert set(spec) <= SPEC
    assert {"type", "sparkVersion", "driver", "executor"} <= set(spec)
    assert spec["type"] == "Python"
    assert set(spec["restartPolicy"]) <= RETRIES
    assert set(spec["driver"]) <= POD
    assert set(spec["executor"]) <= POD | {"instances"}
    assert all(isinstance(value, str) for value in spec["sparkConf"].values())
    assert all(isinstance(argument, str) for argument in spec["arguments"])
