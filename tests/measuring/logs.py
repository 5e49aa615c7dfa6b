"""Log lines as the trainers write them, with made-up numbers."""

from __future__ import annotations


def megatron(step: int, milliseconds: object, loss: str = "4.2E+00") -> str:
    """A line of Megatron-LM of 2026-08."""
    return (
        f" [2026-08-01 10:00:00] iteration {step:8d}/    5000 | consumed samples: {step * 64:12d} | elapsed time per "
        f"iteration (ms): {milliseconds} | throughput per GPU (TFLOP/s/GPU): 380.1 | learning rate: 3.000000E-04 | "
        f"global batch size:    64 | lm loss: {loss} | loss scale: 1.0 | grad norm: 1.203 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n"
    )


def megatron_memory(rank: int, allocated: object, reserved: object, end: str = "\n") -> str:
    """What Megatron-LM says of a card, in MiB."""
    return (
        f"[Rank {rank}] (after 1 iterations) memory (MB) | allocated: 7000.25 | max allocated: {allocated} | "
        f"reserved: 9000.0 | max reserved: {reserved}{end}"
    )


def torchtitan(step: int, rate: str, memory: object = "47.66", rank: int = 0, colors: bool = False) -> str:
    """A line of torchtitan 0.3.0."""
    red, blue, reset = ("\x1b[31m", "\x1b[34m", "\x1b[39m") if colors else ("", "", "")
    return (
        f"[rank{rank}]:[titan] 2026-08-01 10:00:00,000 - root - INFO - {red}step: {step:2}  loss:  4.20000  "
        f"grad_norm:  1.2030  memory: {memory}GiB(50.15%)  {blue}tps: {rate}  tflops: 301.20  mfu: 30.46%{reset}\n"
    )


def deepspeed(step: int, rate: object, memory: object = "31.5") -> str:
    """A line of DeepSpeed 0.19.8."""
    return (
        f"[2026-08-01 10:00:00,000] [INFO] [timer.py:264:stop] epoch=0/micro_step={step * 8}/global_step={step}, "
        f"RunningAvgSamplesPerSec=30.1, CurrSamplesPerSec={rate}, MemAllocated=12.0GB, MaxMemAllocated={memory}GB\n"
    )
