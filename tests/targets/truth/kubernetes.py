"""kubernetes.yaml: the job's own numbers, those that its pods ask for, and the script that they start."""

from __future__ import annotations

from typing import Any

import yaml

from tests.targets.truth.words import ranks

NEEDS = 'launch { script = "train.py"  kubernetes { image = "registry.example/train:1" } }'


def values(files: dict[str, str]) -> dict[str, object]:
    """What the objects say; they agree with each other and with the script."""
    objects: dict[str, Any] = {found["kind"]: found for found in yaml.safe_load_all(files["kubernetes.yaml"])}
    found = ranks(objects["ConfigMap"]["data"]["torchrun.sh"])
    spec = objects["PyTorchJob"]["spec"]
    replicas = spec["pytorchReplicaSpecs"].values()
    assert sum(role["replicas"] for role in replicas) == found["nodes"]
    assert spec["nprocPerNode"] == str(found["gpus_per_node"])
    for role in replicas:
        (container,) = role["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == found["gpus_per_node"]
    return found
