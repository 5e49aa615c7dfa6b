"""skypilot.yaml: the machines and cards that the task asks for, and the script that they start."""

from __future__ import annotations

import re

import yaml

from tests.targets.truth.words import assigned, ranks

EMIT = 'skypilot { accelerator = "H100" }'


def carried(script: str, name: str) -> str:
    """The text of a file that a script unpacks."""
    found = re.search(
        rf"^cat > \"\$\{{planc_files\}}\"/{re.escape(name)} << '(PLANC_END_*)'\n(.*?)^\1$", script, re.M | re.S
    )
    assert found is not None, name
    return found[2]


def values(files: dict[str, str]) -> dict[str, object]:
    """What the task says; it agrees with the scripts that it carries."""
    task = yaml.safe_load(files["skypilot.yaml"])
    found, node = ranks(carried(task["run"], "torchrun.sh")), carried(task["run"], "node.sh")
    (cards,) = task["resources"]["accelerators"].values()
    assert (task["num_nodes"], cards) == (found["nodes"], found["gpus_per_node"])
    assert (assigned(node, "planc_machines"), assigned(node, "planc_cards")) == (task["num_nodes"], cards)
    return found
