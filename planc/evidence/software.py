"""Versions of software, where a log reports them.

Read are the lines of PyTorch's `collect_env` (2.13), of `pip freeze`, of `transformers env` and `accelerate env`, and
those with which DeepSpeed (0.19), torchtitan (0.3), nanotron (after 0.4) and NCCL begin a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_VERSION = r"(\d[\w.+!-]*)"
_REPORTS = tuple(
    (re.compile(pattern + _VERSION), name)
    for pattern, name in (
        (r"DeepSpeed info: version=", "deepspeed"),
        (r"torchtitan version: ", "torchtitan"),
        (r"\bNCCL version ", "nccl"),
        (r"\bPyTorch version(?: \([^)]{0,80}\))?: ", "torch"),
        (r"\bCUDA used to build PyTorch: ", "cuda"),
        (r"\bcuDNN version: ", "cudnn"),
        (r"\bNvidia driver version: ", "nvidia-driver"),
        (r"(?<![\w-])Python version: ", "python"),
        (r"`transformers` version: ", "transformers"),
        *(
            (rf"(?<![\w-]){name} version: ", name)
            for name in ("nanotron", "torch", "transformers", "datasets", "numpy")
        ),
        (r"\bflash-attn version: ", "flash-attn"),
        (r"`Accelerate` version: ", "accelerate"),
    )
)
_PACKAGE = re.compile(r"(?:\d+: )?(?:\[(?:pip3?|conda)\] )?([A-Za-z0-9][\w.-]*)==" + _VERSION + r"\s*")


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Name and version of each software that a line of a log reports."""
    if "ersion" in line or "CUDA used" in line:
        for pattern, name in _REPORTS:
            found = pattern.search(line)
            if found is not None:
                yield name, found[1].rstrip(".")
    if "==" in line:
        package = _PACKAGE.fullmatch(line.strip())
        if package is not None:
            yield re.sub("[-_.]+", "-", package[1]).lower(), package[2]
