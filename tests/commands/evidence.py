"""A run with all that a record of it is made of, and the commands that make and check the record."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from planc.commands.main import main
from tests.commands.cli import CLEAN

PLAN = CLEAN.replace(
    "  emit =",
    '  train { seed = 7 }\n  dataset { name = "corpus"  version = "v3" }\n'
    '  evidence { metrics = ["loss"]  file = "metrics.jsonl" }\n  emit =',
)

METRICS = '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 1.5}\n'


def fill(folder: Path) -> None:
    """Writes plan, checkpoint, data and metrics of a run, and a pair of keys; it is the current folder from then on."""
    (folder / "run.plan").write_text(PLAN)
    (folder / "metrics.jsonl").write_text(METRICS)
    (folder / "train.log").write_text("NCCL version 2.29.7+cuda13.2\n")
    (folder / "ckpt" / "shards").mkdir(parents=True)
    (folder / "ckpt" / "shards" / "rank_0.bin").write_bytes(b"weights of rank 0")
    (folder / "ckpt" / "shards" / "rank_1.bin").write_bytes(b"weights of rank 1")
    (folder / "ckpt" / "latest").symlink_to("shards")
    (folder / "data").mkdir()
    (folder / "data" / "part.txt").write_text("some words")
    for number, name in enumerate(("key", "other")):
        key = Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / f"{name}.pem").write_bytes(private)
        (folder / f"{name}.pem").chmod(0o600)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (folder / f"{name}.pub").write_bytes(public)


def attest(*arguments: str) -> int:
    """Exit status of the command that records the run in `record.json`."""
    return main(["attest", "run.plan", "--checkpoint", "ckpt", "-o", "record.json", *arguments])


def verify(*arguments: str) -> int:
    """Exit status of the command that checks it."""
    return main(["verify", "record.json", *arguments])


def statement(path: Path) -> dict[str, Any]:
    """The statement of a record, be it signed or not."""
    document: dict[str, Any] = json.loads(path.read_text())
    if "payload" in document:
        return dict(json.loads(base64.b64decode(document["payload"])))
    return document
