"""A program that reports how it was started: its rank, arguments and environment."""

import json
import os
import sys

names = ("SIMPLE", "HARD", "EMPTY", "SITE", "MASTER_ADDR", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
report = {
    "rank": int(os.environ["RANK"]),
    "local_rank": int(os.environ["LOCAL_RANK"]),
    "world": int(os.environ["WORLD_SIZE"]),
    "argv": sys.argv,
    "env": {name: os.environ.get(name) for name in names},
}
print(json.dumps(report), flush=True)
