"""Mutants of good command lines of launchers, and what planc and the launchers themselves say of each.

`python -m tests.native.launcher_mutations [SHARE]` judges every mutant, or each `SHARE`-th of them.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest import mock

from planc.diagnostics.diagnostic import Severity
from planc.native.faults import MISSING_KEY, WRONG_VALUE
from planc.native.job import judge
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.source import Source
from tests.native.mutating import Errors, Judge, Mutant

#: Good command lines, by the launcher and what they use of it.
LINES = {
    "torchrun c10d": (
        "torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=host:29500 --rdzv_id=7 "
        "--rdzv_conf timeout=900 --max_restarts=3 --monitor_interval=5 train.py --lr 1"
    ),
    "torchrun alone": (
        "torchrun --standalone --nproc-per-node gpu --redirects 3 --tee 0:3 --log-dir logs --local-ranks-filter 0 "
        "--start-method spawn -m train"
    ),
    "torchrun static": (
        "torchrun --nnodes 2 --nproc_per_node 4 --node_rank 1 --master_addr host --master_port 29500 --no-python ./run"
    ),
    "accelerate ddp": (
        "accelerate launch --multi_gpu --num_machines 2 --num_processes 16 --machine_rank 1 --main_process_ip host "
        "--main_process_port 29500 --mixed_precision bf16 --rdzv_backend static --max_restarts 1 train.py"
    ),
    "accelerate fsdp": (
        "accelerate launch --use_fsdp --fsdp_version 2 --fsdp_reshard_after_forward true --num_processes 8 "
        "--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --dynamo_backend inductor --use_parallelism_config "
        "--parallelism_config_dp_shard_size 8 train.py"
    ),
    "accelerate deepspeed": (
        "accelerate launch --use_deepspeed --zero_stage 3 --gradient_accumulation_steps 2 --gradient_clipping 1.0 "
        "--offload_optimizer_device cpu --num_processes 8 --num_machines 1 --mixed_precision fp16 -m train"
    ),
    "deepspeed cards": "deepspeed --num_gpus 8 --master_port 29501 --no_local_rank --log_level info train.py --lr 1",
    "deepspeed filter": "deepspeed --include=localhost:0,1 --enable_each_rank_log logs --module train",
    "deepspeed each": (
        "deepspeed --hostfile=hosts --num_nodes 2 --num_gpus 4 --no_ssh --node_rank 1 --master_addr one "
        "--master_port 29500 train.py"
    ),
    "deepspeed hosts": "deepspeed --hostfile=hosts --exclude=one:0 --launcher pdsh --ssh_port 22 --force_multi train",
}

#: What the hostfile of these lines has.
HOSTS = {"one": 8, "two": 8}

#: What a launcher takes in silence and planc reports as an error: the harm, by code.
HARM = {
    "PLN015": "a number that DeepSpeed refuses, once the program makes an engine",
    "PLN063": "a value that fails, or waits for ever, once the nodes meet",
    "PLN070": "the launcher starts, and its nodes never meet",
    "PLN075": "processes or nodes that wait for others, which are never started, or fight for one card",
}

_VALUES = (
    "", "0", "-1", "1", "2", "1.5", "x", "true", "8:4", "0:2", "2:4", "gpu", "cuda", "auto", "1,2", "a=b", "a=", "host",
    "host:", "host:99999", "localhost:0", "one:0", "nobody:0", "fp16", "c10d", "static", "1:2:3", "--verbose",
)  # fmt: skip

_MORE = {
    "torchrun": ("--standalone", "--no-python", "--module", "--help_me", "--nnodes 3:2", "--rdzv_backend=c10"),
    "accelerate": (
        "--cpu", "--multi_gpu", "--use_fsdp", "--use_deepspeed", "--use_parallelism_config", "--no_python", "--module",
        "--num_processes 1", "--num_machines 2", "--mixed_precision bf", "--rdzv_conf a",
    ),
    "deepspeed": (
        "--num_gpus 2", "--num_nodes 1", "--num_nodes 2", "--include=one", "--include=localhost:0", "--exclude=two",
        "--no_ssh", "--force_multi", "--module", "--launcher=ssh", "--node_rank 5",
    ),
}  # fmt: skip

#: Codes of which a warning counts, too: it is one where a file that planc does not see might say what is missing.
_WARNED = (MISSING_KEY.code, WRONG_VALUE.code)


def mutants(name: str, line: str) -> Iterator[Mutant]:
    """Every mutant of a command line: an option dropped, misspelt, without its value, with another, and one more."""
    words = line.split()
    start = 2 if words[0] == "accelerate" else 1
    end = next(at for at, word in enumerate(words) if at >= start and _is_program(words, at))
    for at in range(start, end):
        if not words[at].startswith("-"):
            continue
        option, is_glued, _ = words[at].partition("=")
        has_word = not is_glued and at + 1 < end and not words[at + 1].startswith("-")
        after = at + 1 + has_word
        yield _mutant(name, "dropped", option, [*words[:at], *words[after:]])
        for slip in dict.fromkeys((option[:-1], f"{option}s", f"{option[:3]}{option[4:]}", f"-{option}")):
            yield _mutant(name, "misspelt", option, [*words[:at], slip + words[at][len(option) :], *words[at + 1 :]])
        yield _mutant(name, "doubled", option, [*words[:at], *words[at:after], *words[at:]])
        if has_word:
            yield _mutant(name, "without its value", option, [*words[:at], option, *words[after:]])
        if has_word or is_glued:
            for value in _VALUES:
                given = [f"{option}={value}"] if is_glued else [option, value]
                yield _mutant(name, f"= {value}", option, [*words[:at], *given, *words[after:]])
    for more in _MORE[words[0]]:
        yield _mutant(name, "one more", more, [*words[:start], *more.split(), *words[start:]])
    yield _mutant(name, "without", "the program", words[:end])


def _is_program(words: list[str], at: int) -> bool:
    return words[at] in ("train.py", "train", "./run")


def _mutant(name: str, kind: str, path: str, words: list[str]) -> Mutant:
    return Mutant(name, kind, path, shlex.join(words))


def _errors(text: str) -> Errors:
    found = recognise(Source("run.sh", f"#!/bin/bash\n{text}\n"), "shell", True)
    hosts = recognise(
        Source("hosts", "".join(f"{name} slots={slots}\n" for name, slots in HOSTS.items())), "hostfile", True
    )
    assert isinstance(found, Recognised) and isinstance(hosts, Recognised)
    files = [found, hosts] if "=hosts" in text else [found]
    told = judge(files, lambda name, importer: "no such file").diagnostics
    return tuple(
        (each.code, each.message)
        for each in told
        if each.severity is Severity.ERROR or (each.severity is Severity.WARNING and each.code in _WARNED)
    )


def answer(text: str) -> str | None:
    """Why the launcher refuses a command line; None if it starts something. Nothing is started here."""
    words = shlex.split(text)
    launcher, arguments = words[0], words[2:] if words[0] == "accelerate" else words[1:]
    ask: dict[str, Callable[[list[str]], None]] = {
        "torchrun": _torchrun, "accelerate": _accelerate, "deepspeed": _deepspeed,
    }  # fmt: skip
    silent = io.StringIO()
    here = os.getcwd()
    try:
        with (
            tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(silent),
            contextlib.redirect_stdout(silent), mock.patch.dict(os.environ),
        ):  # fmt: skip
            os.chdir(folder)
            ask[launcher](arguments)
    except (Exception, SystemExit) as error:  # whatever it raises is its answer
        return f"{type(error).__name__}: {error} {silent.getvalue()[-100:]}".replace("\n", " ")[:200]
    finally:
        os.chdir(here)
    return None


class _Done:
    """A process that was not started, and ended well."""

    returncode = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def wait(self) -> int:
        """Ends at once."""
        return 0


class _Elastic:
    """torch's agent up to where it would look for the other nodes."""

    def __init__(self, config: Any, entrypoint: Any) -> None:
        from torch.distributed.elastic.agent.server.api import WorkerSpec
        from torch.distributed.elastic.rendezvous import RendezvousParameters
        from torch.distributed.elastic.rendezvous.api import rendezvous_handler_registry
        from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
        from torch.distributed.launcher.api import _get_addr_and_port

        found = RendezvousParameters(
            config.rdzv_backend, config.rdzv_endpoint, config.run_id or "1", config.min_nodes, config.max_nodes,
            config.local_addr, **config.rdzv_configs,
        )  # fmt: skip
        _get_addr_and_port(found)
        if config.rdzv_backend not in rendezvous_handler_registry._registry:
            raise ValueError(f"no rendezvous {config.rdzv_backend}")
        parse_rendezvous_endpoint(config.rdzv_endpoint, 29400)
        WorkerSpec(
            role=config.role, local_world_size=config.nproc_per_node, entrypoint=entrypoint,
            rdzv_handler=mock.Mock(), max_restarts=config.max_restarts, monitor_interval=config.monitor_interval,
        )  # fmt: skip

    def __call__(self, *_: Any) -> None: ...


@contextlib.contextmanager
def _eight_cards() -> Iterator[None]:
    """A machine with eight cards, as torch and accelerate see it."""
    with (
        mock.patch("torch.cuda.is_available", lambda: True), mock.patch("torch.cuda.device_count", lambda: 8),
        mock.patch("torch.distributed.run.elastic_launch", _Elastic),
    ):  # fmt: skip
        yield


def _torchrun(arguments: list[str]) -> None:
    from torch.distributed import run

    torchrun: Any = run
    with _eight_cards():
        torchrun.run(torchrun.parse_args(arguments))


@cache
def _accelerate_parser() -> Any:
    from accelerate.commands.launch import launch_command_parser  # type: ignore[import-untyped]

    return launch_command_parser()


def _accelerate(arguments: list[str]) -> None:
    import accelerate.commands.launch as launch

    with (
        _eight_cards(), mock.patch.object(launch, "default_config_file", "/nowhere"),
        mock.patch.object(launch, "check_cuda_p2p_ib_support", lambda: True),
        mock.patch("accelerate.utils.launch.is_port_in_use", lambda port: False),
        mock.patch.object(subprocess, "Popen", _Done),
    ):  # fmt: skip
        launch.launch_command(_accelerate_parser().parse_args(arguments))


def _deepspeed(arguments: list[str]) -> None:
    os.environ["DS_ACCELERATOR"] = "cpu"
    from deepspeed.launcher import runner  # type: ignore[import-untyped]

    machine = mock.Mock()
    machine.device_count.return_value = 8
    machine.visible_devices_envs.return_value = ["CUDA_VISIBLE_DEVICES"]
    machine.export_envs.return_value = []
    with (
        mock.patch.object(runner, "get_accelerator", lambda: machine),
        mock.patch.object(runner, "fetch_hostfile", lambda path: None if path.startswith("/") else OrderedDict(HOSTS)),
        mock.patch.object(runner.PDSHRunner, "backend_exists", lambda self: True),
        mock.patch.object(runner, "signal"), mock.patch.object(subprocess, "Popen", _Done),
        mock.patch.object(subprocess, "check_call"),
        mock.patch.object(subprocess, "check_output", return_value=b"10.0.0.1 "),
    ):  # fmt: skip
        runner.main(arguments)


#: Both of them.
JUDGE = Judge("the launcher", _errors, answer, HARM)


def every_mutant() -> Iterator[Mutant]:
    """The mutants of the good command lines."""
    return (mutant for name, line in LINES.items() for mutant in mutants(name, line))


if __name__ == "__main__":
    sys.exit(JUDGE.main(every_mutant()))
