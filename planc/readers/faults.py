"""The kinds of fault in a model file, each with its page (shown by `planc rule`)."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity

_INSTEAD = """\
    model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
"""


def _fault(code: str, name: str, severity: Severity, first: str, why: str, example: str, fix: str) -> Fault:
    """A kind of fault; its page in the parts that every page has. It takes two files, so the example is prose."""
    page = f"{first}\n\nWhy: {why}\n\nExample: {example}\n\nInstead:\n{_INSTEAD}\nFix: {fix}\n"
    page += "\nSource: Hugging Face transformers 5.23, the configuration and the modules of each model type.\n"
    page += "\nVersions: language 1.\n"
    return Fault(code, name, severity, page)


UNREADABLE = _fault(
    "PLN040", "unreadable-model-file", Severity.ERROR,
    "A model's file does not say what it has to.",
    "`model m from hf(\"config.json\")` takes the dimensions from the file; what is missing there, or is of the wrong\n"
    "kind, is taken as unknown and never guessed.",
    "a `config.json` with `\"hidden_size\": \"4096\"`, in quotes.",
    "correct the file at the place that is shown, or write the field in the plan: `model m from hf(\"config.json\") {\n"
    "hidden = 4096 }`; a written field is not read from the file.",
)  # fmt: skip

UNKNOWN_TYPE = _fault(
    "PLN041", "unknown-model-type", Severity.ERROR,
    "A model's file is of a type that planc does not know.",
    "each `model_type` names its dimensions in its own way, and has its own norms, biases and experts; to read one as\n"
    "another would give a wrong number of parameters.",
    "a `config.json` with `\"model_type\": \"mamba\"`.",
    "write the fields out in a `model` block; the help says which, and what the file has.",
)  # fmt: skip

UNCOUNTED = _fault(
    "PLN042", "uncounted-architecture", Severity.ERROR,
    "A model's file asks for an architecture that no field describes.",
    "its parameters would come out wrong, and memory and times with them.",
    "a `config.json` of a `gpt2` with `\"add_cross_attention\": true`.",
    "write the field that is named in the plan, if one comes close enough; else the model cannot be described yet.",
)  # fmt: skip

PARTLY_READ = _fault(
    "PLN043", "partly-read-model", Severity.WARNING,
    "A part of what a model's file describes is left out.",
    "a plan describes a language model that is trained; a vision tower beside it, or another head on it, takes memory\n"
    "too and is not counted.",
    "a `config.json` of a `gemma3`, which has a `text_config` and a `vision_config`.",
    "nothing, if only that part is trained; else leave room for the rest.",
)  # fmt: skip

ASSUMED = _fault(
    "PLN044", "assumed-model-value", Severity.INFO,
    "A value that a model's file leaves out is taken as transformers takes it.",
    "files leave out what is the default of their type; the value is right if transformers reads the file too, and is\n"
    "shown so that it is not taken for written.",
    "a `config.json` of a `gemma3_text` without `head_dim`, which is then 256.",
    "nothing; or write the value into the file or the plan.",
)  # fmt: skip

FAULTS = (UNREADABLE, UNKNOWN_TYPE, UNCOUNTED, PARTLY_READ, ASSUMED)
