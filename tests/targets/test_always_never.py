"""What every emitted file does or never does, whatever the plan: each taught by a run that was lost.

Over the clean cases of every target and the examples, read from the text. Scripts inside other files (a ConfigMap, a
task of YAML) are part of their text, so they are judged too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml

from planc.plan import plain
from planc.plan.model import Plan
from planc.targets._launch import option, written
from planc.targets.target import EmittedFile
from tests.compiling import files_of, read
from tests.targets.test_targets import EXAMPLES, OK

ALL = [(plan, file) for path in (*OK, *EXAMPLES) for plan in read(path).plans for file in files_of(plan)]


def code_of(file: EmittedFile) -> str:
    """The text of a file without lines that are comments alone; directives of sbatch stay."""
    return "\n".join(line for line in file.text.splitlines() if not re.match(r"\s*#(?!SBATCH|!)", line))


def scripts() -> Iterator[tuple[Plan, EmittedFile]]:
    """The files that are run."""
    return ((plan, file) for plan, file in ALL if file.path.endswith((".sh", ".sbatch")))


def documents(*endings: str) -> Iterator[tuple[Plan, EmittedFile, Any]]:
    """The documents of files of data whose names have these endings."""
    for plan, file in ALL:
        if file.path.endswith(endings):
            loaded = [json.loads(file.text)] if file.path.endswith(".json") else yaml.safe_load_all(file.text)
            yield from ((plan, file, data) for data in loaded)


def scalars(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that holds no others, with the keys that lead to it."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from scalars(value, (*path, str(key)))
    elif isinstance(data, list):
        for value in data:
            yield from scalars(value, path)
    else:
        yield path, data


def fills_in(plan: Plan, file: EmittedFile) -> bool:
    """Whether the Hugging Face Trainer reads a file as DeepSpeed's, and fills in what is `auto`."""
    if file.path == "training_args.json":
        return True
    return file.path == "ds_config.json" and option(plan, "deepspeed", "trainer") == "hf"


def test_no_file_names_the_cards_that_a_rank_sees() -> None:
    """DeepSpeed's launcher takes `CUDA_VISIBLE_DEVICES` for a choice of its own, and torchrun's ranks count from 0."""
    set_to = re.compile(r"(export |^\s*|- name: )(CUDA|HIP|ROCR)_VISIBLE_DEVICES\b[=:]", re.MULTILINE)
    assert [file for _, file in ALL if set_to.search(code_of(file))] == []


def test_ranks_are_not_counted_by_what_slurm_says_of_cards() -> None:
    """`SLURM_GPUS_PER_NODE` may be `h100:8`, and with `--gpus-per-task` every rank's card is number 0."""
    harms = re.compile("SLURM_GPUS_PER_NODE|gpus-per-task")
    assert [file for _, file in ALL if harms.search(code_of(file))] == []


def test_auto_stands_only_where_the_trainer_fills_it_in() -> None:
    found = Counter(
        fills_in(plan, file)
        for plan, file, data in documents(".json", ".yaml", ".yml")
        for _, value in scalars(data)
        if value == "auto"
    )
    assert set(found) == {True}


def test_the_trainers_own_file_has_no_batch_of_its_own() -> None:
    """The Trainer compares its arguments with the file, and a number there is a second truth."""
    files = [data for plan, file, data in documents("ds_config.json") if fills_in(plan, file)]
    assert files
    assert {data.get("train_batch_size", "auto") for data in files} == {"auto"}


def test_no_number_or_truth_value_is_quoted() -> None:
    """`"true"` is text for every reader that does not guess; Kubernetes alone wants texts, in known places."""
    wants_text = {"env", "envs", "nprocPerNode", "annotations", "labels", "requests", "limits", "env_vars", "data"}
    one_of_words = {"mixed_precision"}  # accelerate: `no`, `fp16`, `bf16` or `fp8`
    quoted = re.compile(r"(?i)true|false|yes|no|[-+]?\d+(\.\d*)?(e[-+]?\d+)?")
    found = [
        (file.path, path, value)
        for _, file, data in documents(".json", ".yaml", ".yml")
        if file.path != plain.NAME  # planc's own reader wants texts where the plan has them
        for path, value in scalars(data)
        if isinstance(value, str) and quoted.fullmatch(value) and not set(path) & (wants_text | one_of_words)
    ]
    assert found == []


def test_every_variable_yields_to_the_callers() -> None:
    """A variable of the shared block is set only where it is not set."""
    blind = re.compile(r"^\s*export (NCCL|PYTORCH|TORCH|TRITON|HF|CUDA|UCX|GLOO|OMP)_\w+=", re.MULTILINE)
    asked = re.compile(r"if \[\[ ! -v OMP_NUM_THREADS \]\]; then\n(.*\n)*?\s*fi")
    assert [file for _, file in ALL if blind.search(asked.sub("", code_of(file)))] == []


def test_one_connection_to_the_card_is_for_trainers_that_want_it() -> None:
    """Megatron and nanotron order their kernels by it; FSDP2 needs more than one to gather weights beside the pass."""
    plans = [plan for plan, file in ALL if "CUDA_DEVICE_MAX_CONNECTIONS" in code_of(file)]
    assert plans
    assert [plan.name for plan in plans if not plan.emits("megatron", "megatron-bridge", "nanotron")] == []
    assert [plan.name for plan in plans if plan.emits("fsdp2", "torchtitan")] == []


def test_a_job_has_a_signal_before_its_end_and_says_whether_it_starts_again() -> None:
    asked = 0
    for plan, file in ALL:
        if not file.path.endswith(".sbatch"):
            continue
        assert re.search(r"^#SBATCH --(no-)?requeue$", file.text, re.MULTILINE)
        long = plan.is_written("launch.walltime") and 300 < plan.value("launch.walltime")
        if long and "signal" not in (written(plan, "launch.slurm") or {}):
            assert re.search(r"^#SBATCH --signal=B:USR1@\d+$", file.text, re.MULTILINE)
            assert re.search(r"^trap planc_hand_on ", file.text, re.MULTILINE)
            asked += 1
    assert 3 < asked


def test_a_launcher_is_told_how_often_to_start_again() -> None:
    asked: Counter[str] = Counter()
    for _, file in ALL:
        for launcher, restarts in (("torchrun", "--max-restarts="), ("accelerate launch", "--max_restarts ")):
            for call in re.findall(rf"exec {launcher} \\\n(?:.*\\\n)*.*", file.text):
                assert restarts in call, call
                asked[launcher] += 1
    assert set(asked) == {"torchrun", "accelerate launch"}


def test_a_script_shows_its_commands_when_asked() -> None:
    for _, file in scripts():
        if file.executable and file.path != "env.sh":
            assert "PLANC_TRACE" in file.text
            assert "echo " in file.text


def pods() -> Iterator[dict[str, Any]]:
    """The description of every pod."""

    def below(data: Any) -> Iterator[dict[str, Any]]:
        if isinstance(data, dict):
            if isinstance(data.get("containers"), list) and "volumes" in data:
                yield data
            for value in data.values():
                yield from below(value)
        elif isinstance(data, list):
            for value in data:
                yield from below(value)

    return (pod for _, _, data in documents("kubernetes.yaml") for pod in below(data))


def test_pods_have_what_a_run_needs() -> None:
    asked: Counter[str] = Counter()
    for pod in pods():
        container = pod["containers"][0]
        memory = [each["name"] for each in pod["volumes"] if each.get("emptyDir", {}).get("medium") == "Memory"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert [mounts[name] for name in memory] == ["/dev/shm"]
        if pod.get("hostNetwork"):
            assert pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            asked["network"] += 1
        if any("rdma" in name or "hca" in name for name in container["resources"]["limits"]):
            assert "IPC_LOCK" in container["securityContext"]["capabilities"]["add"]
            asked["rdma"] += 1
    assert set(asked) == {"network", "rdma"}


def test_pods_start_as_many_processes_as_they_have_cards() -> None:
    asked: Counter[str] = Counter()
    for plan, _, document in documents("kubernetes.yaml"):
        spec, cards = document.get("spec") or {}, plan.value("cluster.gpus_per_node")
        trainer = spec.get("trainer") or {}
        if "nprocPerNode" in spec:
            assert spec["nprocPerNode"] == str(cards)
        if "numProcPerNode" in trainer:
            assert trainer["numProcPerNode"] == cards
        asked.update({*spec, *trainer} & {"nprocPerNode", "numProcPerNode"})
    assert set(asked) == {"nprocPerNode", "numProcPerNode"}
