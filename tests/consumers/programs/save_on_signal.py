"""Ranks that wait for the signal before the walltime: those of one node save on it, the others know nothing of it."""

import json
import os
import signal
import sys
import time
from pathlib import Path

rank, restarts = int(os.environ["RANK"]), int(os.environ.get("SLURM_RESTART_COUNT", "0"))
came: list[int] = []
if os.environ["GROUP_RANK"] == "0":
    signal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))
Path(f"ready-{restarts}-{rank}").touch()
saved = Path("saved")
deadline = time.monotonic() + 60
while restarts == 0 and not saved.exists() and time.monotonic() < deadline:
    if came and os.environ["LOCAL_RANK"] == "0":
        saved.touch()
    time.sleep(0.1)
print(json.dumps({"rank": rank, "restarts": restarts, "signals": len(came), "saved": saved.exists()}), flush=True)
sys.exit(0 if saved.exists() else 3)
