"""The kinds of fault in the files of other tools, each with its page."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity


def _fault(
    code: str, name: str, severity: Severity, first: str, *, why: str, example: str, instead: str, fix: str, source: str
) -> Fault:
    """A kind of fault; its page in the parts that every page has. The files are not planc's: the examples are prose."""
    page = f"{first}\n\nWhy: {why}\n\nExample: {example}\n\nInstead: {instead}\n\nFix: {fix}\n\nSource: {source}"
    return Fault(code, name, severity, f"{page}\n\nVersions: those that the message names.\n")


_TABLES = "the consumer itself, asked by the scripts in `tests/tables/`."

UNREADABLE = _fault(
    "PLN060", "unreadable-file", Severity.ERROR,
    "A file is not what its format allows.",
    why="a JSON, YAML or TOML file that cannot be read stops the run before anything starts, or worse, is read by a\n"
    "more generous loader as something else.",
    example="a `ds_config.json` with a comma before `}`.",
    instead="the same without the comma.",
    fix="the message says where reading stopped, and what was due there.",
    source="RFC 8259, YAML 1.1 as pyyaml reads it, TOML 1.0.",
)  # fmt: skip

UNRECOGNISED = _fault(
    "PLN061", "unrecognised-file", Severity.ERROR,
    "A file that was named is of no kind that planc reads.",
    why="a file that nobody looks at must not look like one without faults. In a folder such a file is passed over.",
    example="`planc lint settings.json`, where the file holds the settings of an editor.",
    instead="`planc lint ds_config.json`.",
    fix="name the kind with `--kind` if planc should know it; the message lists the kinds.",
    source="docs/native.md.",
)  # fmt: skip

UNKNOWN_KEY = _fault(
    "PLN062", "unknown-key", Severity.ERROR,
    "A key is none that the consumer reads.",
    why="most consumers pass over a key that they do not know without a word: the setting that it was meant to be\n"
    "keeps its default, and the run is another one than was asked for. The others refuse to start.",
    example="`\"gradient_cliping\": 1.0` in a DeepSpeed configuration: gradients are not clipped.",
    instead="`\"gradient_clipping\": 1.0`.",
    fix="correct the name; the help has the nearest one that there is. `--fix` renames where only one is near.",
    source=_TABLES,
)  # fmt: skip

WRONG_VALUE = _fault(
    "PLN063", "wrong-value", Severity.ERROR,
    "A value is of a type, or one of the words, that its key does not take.",
    why="\"8\" in quotes is a text: some consumers multiply it, some compare it, some fail after an hour. YAML reads\n"
    "`5e8` as a text and `no` as false.",
    example="`\"train_batch_size\": \"64\"`.",
    instead="`\"train_batch_size\": 64`.",
    fix="write the value as the help shows it; `--fix` does so where the text can mean one value only.",
    source=_TABLES,
)  # fmt: skip

DUPLICATE_KEY = _fault(
    "PLN064", "duplicate-key", Severity.ERROR,
    "A key stands twice in one object.",
    why="loaders take the last one and say nothing (DeepSpeed's own refuses), so the first is a setting that does\n"
    "nothing.",
    example="`{\"stage\": 2, \"stage\": 3}`.",
    instead="`{\"stage\": 3}`.",
    fix="remove one of them.",
    source="RFC 8259, section 4; pyyaml, SafeConstructor.",
)  # fmt: skip

RENAMED_KEY = _fault(
    "PLN065", "renamed-key", Severity.WARNING,
    "A key has another name now, or is about to go.",
    why="the old name still works, with a warning in the log that nobody reads, and will not in a later release.",
    example="`\"cpu_offload\": true` in `zero_optimization`.",
    instead="`\"offload_optimizer\": {\"device\": \"cpu\"}`.",
    fix="use the name in the help.",
    source=_TABLES,
)  # fmt: skip

REMOVED_KEY = _fault(
    "PLN066", "removed-key", Severity.WARNING,
    "A key is one of an earlier release.",
    why="what it switched on is gone, so the file asks for something that the run does not do.",
    example="`\"elasticity\": {...}` with DeepSpeed 0.19.",
    instead="no such key, or the release that has it.",
    fix="remove the key, or state the version under `versions` in planc.toml.",
    source=_TABLES,
)  # fmt: skip

MISPLACED_KEY = _fault(
    "PLN067", "misplaced-key", Severity.ERROR,
    "A key stands in the wrong section.",
    why="the consumer looks for it elsewhere, so it does nothing where it is.",
    example="`\"overlap_comm\": true` beside `zero_optimization`.",
    instead="`\"zero_optimization\": {\"overlap_comm\": true}`.",
    fix="move it into the section that the help names.",
    source=_TABLES,
)  # fmt: skip

INERT_KEY = _fault(
    "PLN068", "inert-key", Severity.WARNING,
    "A key has no effect beside another setting.",
    why="it is read only under a setting that this file does not have, so whoever wrote it believes in something that\n"
    "does not happen.",
    example="`offload_param` at ZeRO stage 2.",
    instead="stage 3, or no `offload_param`.",
    fix="change the other setting, which the message shows, or remove the key.",
    source=_TABLES,
)  # fmt: skip

UNRESOLVED_AUTO = _fault(
    "PLN069", "unresolved-auto", Severity.ERROR,
    "`auto` stands where nothing resolves it.",
    why="the HF Trainer and accelerate fill in `auto` for some keys of a DeepSpeed file. For the others it stays a\n"
    "text: DeepSpeed fails on it, or falls back to its default without a word.",
    example="`\"sub_group_size\": \"auto\"`.",
    instead="`\"sub_group_size\": 1e9`.",
    fix="write the value, or leave the key out; say with `--trainer` who reads the file.",
    source="transformers, integrations/deepspeed.py; accelerate, utils/dataclasses.py.",
)  # fmt: skip

MISSING_KEY = _fault(
    "PLN070", "missing-key", Severity.ERROR,
    "A key that the others need is not there.",
    why="the consumer refuses to start without it, or takes a default that does not fit the rest.",
    example="`offload_optimizer` on `nvme` without `nvme_path`.",
    instead="`{\"device\": \"nvme\", \"nvme_path\": \"/local\"}`.",
    fix="add the key.",
    source=_TABLES,
)  # fmt: skip

DISAGREEING_FILES = _fault(
    "PLN071", "disagreeing-files", Severity.ERROR,
    "Two files of one job say different things.",
    why="one of the two silently wins, or the run stops at its start with a list of differences. The most reported\n"
    "kind of fault of all: nobody looks at the files together.",
    example="a micro batch of 4 in the DeepSpeed file, `per_device_train_batch_size: 8` in the Trainer's arguments.",
    instead="the same number in both, or `auto` in the DeepSpeed file.",
    fix="both places are shown; correct one of them.",
    source="transformers, HfTrainerDeepSpeedConfig.trainer_config_finalize; accelerate, _prepare_deepspeed.",
)  # fmt: skip

UNFILLED_TEMPLATE = _fault(
    "PLN072", "unfilled-template", Severity.WARNING,
    "A template has gaps that are yet to be filled in.",
    why="names in capitals where values are due are no JSON: the file is one for a script to fill in. What stands in\n"
    "the gaps is not known, so no rule looks at it.",
    example="`\"train_batch_size\": GBSIZE`.",
    instead="`\"train_batch_size\": 256`.",
    fix="lint the file that the script makes of it, too.",
    source="RFC 8259.",
)  # fmt: skip

MISSING_FILE = _fault(
    "PLN073", "missing-file", Severity.WARNING,
    "A file that another one names is not there.",
    why="the run will look for it where it starts. It may well be there on the cluster; from here, nobody has checked\n"
    "it.",
    example="`--deepspeed ds_config.json` beside no such file.",
    instead="the path from the folder in which the job starts.",
    fix="correct the path, or lint where the file is.",
    source="docs/native.md.",
)  # fmt: skip

OLD_AND_NEW_KEY = _fault(
    "PLN074", "old-and-new-key", Severity.ERROR,
    "A setting stands there under its old and under its new name.",
    why="which of the two counts depends on the release, and some refuse to start.",
    example="`cpu_offload` beside `offload_optimizer`.",
    instead="`offload_optimizer` alone.",
    fix="remove the old one.",
    source=_TABLES,
)  # fmt: skip

CONFLICTING_SETTINGS = _fault(
    "PLN075", "conflicting-settings", Severity.ERROR,
    "Settings of one file exclude each other.",
    why="the consumer refuses the pair, or takes one and says nothing.",
    example="`fp16` and `bf16` both enabled in a DeepSpeed configuration.",
    instead="one of the two.",
    fix="both places are shown; change one of them.",
    source=_TABLES,
)  # fmt: skip

HAMPERED_PODS = _fault(
    "PLN078", "hampered-pods", Severity.WARNING,
    "Pods are set up so that their ranks may not find each other, or talk over a slower network.",
    why="two pods on one node's network want the same port; on it they do not find names of the cluster unless told\n"
    "where to ask; and RDMA needs memory that may be locked, without which NCCL falls back to sockets.",
    example="`hostNetwork: true` in the template of four pods that may share a node.",
    instead="the same with a `podAntiAffinity` that keeps them on nodes of their own.",
    fix="add what the help names, or remove what the label shows.",
    source="Kubernetes API, PodSpec; kubeflow/mpi-operator#593; NVIDIA/nvidia-container-toolkit#2037.",
)  # fmt: skip

UNKNOWN_MODEL = _fault(
    "PLN079", "unknown-model", Severity.INFO,
    "The file of a model describes one whose numbers planc cannot tell.",
    why="a model of a type that planc does not know, or with parts that no field describes, has other numbers of\n"
    "parameters than planc would count. The file is not at fault, but memory and times are not judged.",
    example="a `config.json` with `\"model_type\": \"mamba\"`.",
    instead="a `config.json` of a type that the message lists.",
    fix="nothing in the file; name a `model` block with `--model`, with the fields written out, to have them judged.",
    source="the readers of model types in `planc/readers/`.",
)  # fmt: skip

UNSEEN_DIRECTIVE = _fault(
    "PLN080", "unseen-directive", Severity.ERROR,
    "A line for the scheduler is one that it does not read as it is meant.",
    why="the scheduler reads comments up to the first command, and expands nothing in them; the shell reads none. So\n"
    "the job gets the default of the partition: another time, another number of cards.",
    example="`#SBATCH --nodes=$NODES`, or a `#SBATCH` line below `module load cuda`.",
    instead="`#SBATCH --nodes=4` above all commands, or `sbatch --nodes=$NODES train.sbatch`.",
    fix="move the line up, write the value, or pass the option on the command line.",
    source="sbatch(1).",
)  # fmt: skip

HIDDEN_FAILURE = _fault(
    "PLN081", "hidden-failure", Severity.WARNING,
    "The status of the training is lost in a pipe.",
    why="the status of a pipe is that of its last command: `torchrun ... | tee log` succeeds when training has\n"
    "failed, so that the job is told to be complete, nothing is requeued, and what follows runs on no result.",
    example="`torchrun train.py | tee train.log` in a script without `set -o pipefail`.",
    instead="the same below `set -o pipefail`.",
    fix="write `set -o pipefail` at the top of the script.",
    source="bash(1), Pipelines.",
)  # fmt: skip

FAULTS = (
    UNREADABLE, UNRECOGNISED, UNKNOWN_KEY, WRONG_VALUE, DUPLICATE_KEY, RENAMED_KEY, REMOVED_KEY, MISPLACED_KEY,
    INERT_KEY, UNRESOLVED_AUTO, MISSING_KEY, DISAGREEING_FILES, UNFILLED_TEMPLATE, MISSING_FILE, OLD_AND_NEW_KEY,
    CONFLICTING_SETTINGS, HAMPERED_PODS, UNKNOWN_MODEL,
    UNSEEN_DIRECTIVE, HIDDEN_FAILURE,
)  # fmt: skip
