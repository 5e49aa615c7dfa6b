"""What is handed to the consumers of a plan: its files, also where planc has an error and would write none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from planc.compiler import plan_facts
from planc.plan.model import Plan, Unknown
from planc.targets import load_target, target_names
from tests.mutation.megatron_arguments import words_of

#: What a node's caller supplies, in place of the shell.
CALLER = {"MASTER_ADDR": "n1", "MASTER_PORT": "29500", "RDZV_ID": "1", "NODE_RANK": "0", "planc_here": "/out"}


class Asked(NamedTuple):
    """One question: the consumer, and all that its answer depends on, as texts and numbers."""

    consumer: str
    about: Any


def questions(plan: Plan, trainer: str) -> tuple[Asked, ...]:
    """What a plan's consumers are asked; a file that cannot be written asks nothing."""
    found = []
    texts = {path: text for choice in plan.targets for path, text in _files(plan, choice.name)}
    if "megatron.args" in texts:
        about = {"words": words_of(texts["megatron.args"]), "world": _sizes(plan)["world"]}
        return () if about["world"] is None else (Asked("megatron", about),)
    if "ds_config.json" in texts:
        found.append(Asked("deepspeed", {"config": texts["ds_config.json"], **_sizes(plan)}))
    if "torchrun.sh" in texts:
        found.append(Asked("torchrun", {"argv": _argv(texts["torchrun.sh"], "torchrun")}))
    if "accelerate.sh" in texts:
        found += _accelerate(plan, texts)
    if "job.sbatch" in texts:
        options = [line for line in texts["job.sbatch"].splitlines() if line.startswith("#SBATCH")]
        found.append(Asked("slurm", {"options": options}))
    return tuple(found)


def _attempt(function: Any) -> Any:
    """The value of a function; None if what is not known keeps it from having one."""
    try:
        return function()
    except Exception:  # targets take for granted what holds in a plan without an error
        return None


def _files(plan: Plan, target: str) -> list[tuple[str, str]]:
    if target not in target_names():
        return []
    files = _attempt(lambda: load_target(target).emit(plan, plan_facts(plan)))
    return [] if files is None else [(file.path, file.text) for file in files]


def _sizes(plan: Plan) -> dict[str, Any]:
    """The sizes of the run around a file that does not say them; None where they are not known."""
    paths = ("parallel.data", "parallel.pipeline", "parallel.context", "batch.micro", "launch.timeout")
    known = {path.rpartition(".")[2]: plan.value(path) for path in paths}
    world = _attempt(lambda: int(plan.value("cluster.nodes") * plan.value("cluster.gpus_per_node")))
    found = {name: None if isinstance(value, Unknown) else value for name, value in {**known, "world": world}.items()}
    found["timeout"] = None if found["timeout"] is None else float(found["timeout"])
    return found


def _accelerate(plan: Plan, texts: Mapping[str, str]) -> list[Asked]:
    script = texts["accelerate.sh"]
    config = texts.get(f"accelerate_{_assigned(script)['PLANC_BACKEND']}.yaml")
    if config is None:
        return []
    exports = re.findall(r"^\[\[ -v (ACCELERATE\w+) \]\] \|\| export \w+=(.*)$", script, re.MULTILINE)
    environment = {name: shlex.split(value)[0] for name, value in exports}
    about = {"config": config, "argv": _argv(script, "accelerate"), "environment": environment, **_sizes(plan)}
    return [Asked("accelerate", about)]


def _argv(script: str, program: str) -> list[str]:
    """How an emitted script calls a program, without a shell; a test holds it against what bash makes of the script."""
    joined = script.replace("\\\n", " ")
    variables = CALLER | _assigned(joined)
    lines = (line.strip().removeprefix("(").strip() for line in joined.splitlines())
    calls = [line for line in lines if line.startswith(f"exec {program} ")]
    (set_line,) = [line for line in joined.splitlines() if line.startswith("set -- ")]
    words = []
    for word in shlex.split(calls[-1])[2:]:
        words += _own_words(set_line, variables) if word == "$@" else [_expanded(word, variables)]
    return words


def _own_words(line: str, variables: Mapping[str, str]) -> list[str]:
    return [_expanded(word, variables) for word in shlex.split(line)[2:] if word != "$@"]


def _assigned(script: str) -> dict[str, str]:
    found = re.findall(r"^(?:\[\[ -v \w+ \]\] \|\| )?(planc_\w+|PLANC_\w+)=(.*)$", script, re.MULTILINE)
    values: dict[str, str] = {"planc_here": CALLER["planc_here"]}
    for name, text in found:
        if not text.startswith(("$(", "(")):
            words = shlex.split(text, comments=True)
            values[name] = _expanded(words[0] if words else "", CALLER | values)
    return values


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda found: variables.get(found[1], found[2] or ""), word)
