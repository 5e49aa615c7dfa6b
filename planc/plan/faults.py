"""The kinds of fault in what a file means, each with its page (shown by `planc rule`)."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity

_GPU = "gpu card { memory = 80 GiB  bf16 = true }"
_CLUSTER = "cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }"
_MODEL = "model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }"
_CARDS = "    gpu old { memory = 80 GiB  bf16 = false }\n    gpu tiny { memory = 100 MiB  bf16 = true }\n"
_BATCH = "batch { global = 64  micro = 1 }"
_BASE = f"""\
    {_GPU}
    {_CLUSTER}
    {_MODEL}
"""


def _plan(rest: str, *, batch: str = _BATCH, model: str = "small") -> str:
    return f"{_BASE}    plan run {{ model = {model}  cluster = one  {batch}  precision = bf16  {rest} }}\n"


def _fault(
    code: str,
    name: str,
    first: str,
    why: str,
    example: str,
    instead: str,
    fix: str,
    source: str,
    *,
    severity: Severity = Severity.ERROR,
) -> Fault:
    """A kind of fault; its page in the parts that every page has."""
    page = f"{first}\n\nWhy: {why}\n\nExample:\n{example}\nInstead:\n{instead}\nFix: {fix}\n\nSource: {source}\n"
    page += "\nVersions: language 1.\n"
    return Fault(code, name, severity, page)


UNKNOWN_NAME = _fault(
    "PLN010", "unknown-name", "A name refers to nothing that this file knows.",
    "a model, cluster, card, policy or plan is referred to by name; a mistyped name is never taken for another,\n"
    "so nothing that depends on it can be checked.",
    _plan("", model="smal"), _plan(""),
    "correct the name, or bring its file in with `use`; the built-in ones need\n"
    "`use \"planc/gpus\"` or `use \"planc/models\"`. `--unsafe-fixes` writes the name where one alone is near.",
    "docs/language.md, Other files.",
)  # fmt: skip

UNKNOWN_FIELD = _fault(
    "PLN011", "unknown-field", "A block or section has no field of this name.",
    "a field that nobody reads is a setting that silently does nothing; DeepSpeed\n"
    "accepts `zero_optimisation` without a word.",
    _plan("parallel { tensr = 8 }"), _plan("parallel { tensor = 8 }"),
    "correct the name; where nothing is close, the note lists the fields that there are. `--unsafe-fixes`\n"
    "writes the one that is near, with its section around it if it belongs into another.",
    "docs/language.md, plan and template.",
)  # fmt: skip

MISSING_FIELD = _fault(
    "PLN012", "missing-field", "A required field is not written.",
    "without it nothing that depends on it can be worked out, and there is no default that would be right.",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = 1 }}\n", f"    {_GPU}\n    {_CLUSTER}\n",
    "write the field.",
    "docs/language.md, plan and template.",
)  # fmt: skip

WRITTEN_TWICE = _fault(
    "PLN013", "written-twice", "A field or a block is written twice.",
    "one of the two is not what was meant, and nothing says which; the value is taken as unknown.",
    _plan("", batch="batch { global = 64  micro = 3  micro = 2 }"), _plan("", batch="batch { global = 64  micro = 2 }"),
    "remove one of the two.",
    "docs/language.md, Blocks and entries.",
)  # fmt: skip

WRONG_TYPE = _fault(
    "PLN014", "wrong-type", "A value is of the wrong kind.",
    "`100 GB` where a bandwidth is due may mean 100 GB/s or 100 Gbit/s, eight times apart; neither is guessed.",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = 1  gpus_per_node = 8  inter_node = 100 GB }}\n",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = 1  gpus_per_node = 8  inter_node = 100 GB/s }}\n",
    "write a value of the kind that the message names; `--fix` does where only one can be meant.",
    "docs/language.md, Values.",
)  # fmt: skip

OUT_OF_RANGE = _fault(
    "PLN015", "out-of-range", "A number is outside the range of its field.",
    "half a node or minus one layer cannot be built; torchrun accepts `--nproc-per-node=0` and starts nothing.",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = -1  gpus_per_node = 8 }}\n", f"    {_GPU}\n    {_CLUSTER}\n",
    "write a number in the range that the message names; `--unsafe-fixes` does where one is near.",
    "docs/language.md, Values.",
)  # fmt: skip

UNKNOWN_WORD = _fault(
    "PLN016", "unknown-word", "A word is none of those that the field knows.",
    "a bare word is one of a fixed list; text of your own stands in quotes.",
    _plan("recompute = everything"), _plan("recompute = full"),
    "choose one of the listed words; `--unsafe-fixes` does where one alone is near.",
    "docs/language.md, plan and template.",
)  # fmt: skip

UNKNOWN_TARGET = _fault(
    "PLN017", "unknown-target", "A target of this name cannot be emitted.",
    "`emit` names what `compile` writes; a mistyped target would be a launch file that is missing on the day.",
    _plan("emit = [deepspeeed]"), _plan("emit = [deepspeed]"),
    "correct the name; `planc targets` lists them, and `--unsafe-fixes` writes the one that is near.",
    "docs/language.md, emit.",
)  # fmt: skip

MALFORMED_NUMBER = _fault(
    "PLN019", "malformed-number", "A number is not written as the language writes numbers.",
    "`0128` reads as octal to some, and `1e400` is no number of anything on a cluster.",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = 007  gpus_per_node = 8 }}\n", f"    {_GPU}\n    {_CLUSTER}\n",
    "write digits without a leading zero, with `_` only between digits and an exponent of at most 99.",
    "docs/language.md, Text.",
)  # fmt: skip

UNKNOWN_UNIT = _fault(
    "PLN020", "unknown-unit", "A unit or suffix is unknown.",
    "`8K` may be 8,000 or 8,192, and `400 Gbps` is read as bits by some and bytes by others; neither is guessed.",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = 1  gpus_per_node = 8  inter_node = 400 Gbps }}\n",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = 1  gpus_per_node = 8  inter_node = 400 Gbit/s }}\n",
    "write the unit that the help names: `--fix` does where only one can be meant, `--unsafe-fixes` where one is near.",
    "docs/language.md, Values.",
)  # fmt: skip

CIRCULAR = _fault(
    "PLN021", "circular-definition", "A value is defined by itself.",
    "`layers = hidden` and `hidden = layers` wait for each other: no order of evaluation gives either a value.",
    "    model small { layers = hidden  hidden = layers  heads = 8  ffn = 4096  vocab = 32_000 }\n",
    "    model small { layers = 8  hidden = layers * 128  heads = 8  ffn = 4096  vocab = 32_000 }\n",
    "write one of the values of the chain out.",
    "docs/language.md, Paths.",
)  # fmt: skip

UNUSABLE_IMPORT = _fault(
    "PLN022", "unusable-import", "A used file cannot be had.",
    "what it defines is missing, so nothing that refers to it can be checked.",
    "    use \"not-there.plan\"\n", "    use \"planc/gpus\"\n",
    "correct the path; it is relative to this file and stays inside the project. `--unsafe-fixes` adds the\n"
    "ending or the folder that is missing.",
    "docs/language.md, Other files.",
)  # fmt: skip

AMBIGUOUS_NAME = _fault(
    "PLN023", "ambiguous-name", "Two used files define the name that is referred to.",
    "the two may have other sizes, and to take the first would make the result depend on the order of the `use` lines.",
    "two files that both define `model small`, and a plan that uses both and says `model = small`.",
    _plan(""),
    "use one of the files only, or define the block in this file: that hides the used ones.",
    "docs/language.md, Other files.",
)  # fmt: skip

MISPLACED = _fault(
    "PLN024", "misplaced-entry", "An entry stands where it has no meaning.",
    "a rule outside a policy is never judged, and `auto` follows only from the equations of the plan.",
    _plan("require parallel.tensor <= 8"),
    _plan("policies = [house]") + "    policy house { require parallel.tensor <= 8 }\n",
    "move the entry to the place that the message names.",
    "docs/language.md, Policies and `auto` follows.",
)  # fmt: skip

DIVISION_BY_ZERO = _fault(
    "PLN025", "division-by-zero", "A value is divided by zero.",
    "no number times zero is eight, so `8 / 0` has no value, nor has anything that follows from it.",
    "    model small { layers = 8 / 0  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }\n", f"    {_MODEL}\n",
    "correct the divisor.",
    "arithmetic.",
)  # fmt: skip

DERIVED_SET = _fault(
    "PLN026", "derived-number-set", "A derived number is set.",
    "it follows from the plan; setting it would make two truths.",
    _plan("memory { total = 60 GiB }"), _plan(""),
    "set the fields that it follows from; a limit on it belongs into a policy, `require memory.headroom >= 8 %`.",
    "docs/language.md, Derived numbers.",
)  # fmt: skip

UNSOLVABLE = _fault(
    "PLN027", "unsolvable-auto", "An `auto` does not follow from the other fields.",
    "`auto` is worked out only where exactly one value fits; planc never chooses.",
    f"    {_GPU}\n    cluster one {{ gpu = card  nodes = auto  gpus_per_node = 8 }}\n    {_MODEL}\n"
    "    plan run { model = small  cluster = one  batch { global = 64  micro = 1 }  precision = bf16 }\n",
    _plan(""),
    "write the value, or the others of its equation.",
    "docs/language.md, `auto` follows.",
)  # fmt: skip

CONFLICTING_TRAINERS = _fault(
    "PLN028", "conflicting-trainers", "The emitted trainers accumulate gradients in different dtypes.",
    "Megatron accumulates in fp32 and DeepSpeed in 16 bits unless told otherwise: the two would need different memory\n"
    "and train differently from one plan.",
    _plan("emit = [megatron, torchrun, deepspeed]  launch { script = \"train.py\" }"),
    _plan("emit = [torchrun, deepspeed]  launch { script = \"train.py\" }"),
    "write `precision = bf16 { gradients = fp32 }`, or the dtype that is meant.",
    "docs/language.md, precision.",
)  # fmt: skip

UNKNOWN_FUNCTION = _fault(
    "PLN029", "unknown-function", "A function does not exist, or is called with the wrong arguments.",
    "the language has a fixed set of functions, so that a plan means the same everywhere; a mistyped one is no other.",
    _plan("policies = [house]") + "    policy house { require modulo(cluster.nodes, 2) == 0 }\n",
    _plan("policies = [house]") + "    policy house { require divides(1, cluster.nodes) }\n",
    "use one of `divides ceil floor min max sum count any all`; `--unsafe-fixes` writes the one that is near.",
    "docs/language.md, Functions.",
)  # fmt: skip

OPEN_FIELD = _fault(
    "PLN030", "open-field", "A field that has to be settled is left open.",
    "`tensor in [1, 2]` leaves the choice to a search; `compile` has to write one value.",
    "a plan with `parallel { tensor in [1, 2, 4] }`, compiled.",
    _plan("parallel { tensor = 2 }"),
    "write the value that is meant.",
    "docs/language.md, `in` leaves open.",
)  # fmt: skip

UNLIKE_GROUPS = _fault(
    "PLN037", "unlike-groups", "The groups of a cluster have different numbers of cards per node.",
    "every launcher starts as many ranks on each node, and every rank has a card of its own; with 8 cards on some\n"
    "nodes and 4 on others no number of ranks fits all.",
    f"    {_GPU}\n    {_CLUSTER}\n"
    "    cluster both { groups = [one, one { gpus_per_node = 4 }] }\n",
    f"    {_GPU}\n    {_CLUSTER}\n"
    "    cluster both { groups = [one { gpus_per_node = 4 }, one { nodes = 2  gpus_per_node = 4 }] }\n",
    "use as many cards on every node as the node with the fewest has.",
    "torch.distributed.run, --nproc-per-node.",
)  # fmt: skip

NO_CANDIDATE = _fault(
    "PLN035", "every-candidate-fails", "Every candidate of a field that is left open has an error.",
    "the field is left open for a search, and no choice in its list gives a plan that could run.",
    _CARDS + _plan("").replace("cluster = one", "cluster = one { gpu in [old, tiny] }"),
    _CARDS + _plan("").replace("cluster = one", "cluster = one { gpu in [old, tiny, card] }"),
    "add a candidate that fits; the notes say what is wrong with each.",
    "docs/language.md, `in` leaves open.",
)  # fmt: skip

DECIMAL_SUFFIX = _fault(
    "PLN036", "decimal-suffix", "A sequence length counts in thousands where powers of two are the custom.",
    "`8k` is 8,000 tokens; a model with 8,192 positions, and every kernel that works\n"
    "in blocks of 128, is meant for `8Ki`.",
    _plan("", batch="batch { global = 64  micro = 1  sequence_length = 8k }"),
    _plan("", batch="batch { global = 64  micro = 1  sequence_length = 8Ki }"),
    "write `8Ki`; if 8,000 is meant, write `8_000`.",
    "docs/language.md, Values.",
    severity=Severity.INFO,
)  # fmt: skip

TOO_COMPLEX = _fault(
    "PLN031", "too-complex", "An expression or a chain of definitions is too deep.",
    "evaluation is bounded, so that a check always ends, and soon: 200 operators one inside the other, results of\n"
    "10,000 digits, 32 fields that follow from each other, 32 `from` or `use` in a chain.",
    f"    model small {{ layers = {'1 + ' * 250}1  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }}\n",
    f"    {_MODEL}\n",
    "write the value out.",
    "docs/language.md, Limits.",
)  # fmt: skip

UNKNOWN_LANGUAGE = _fault(
    "PLN032", "unknown-language", "The file is written in a later version of the language.",
    "a later language may give the same words another meaning.",
    "    language = 2\n", "    language = 1\n",
    "upgrade planc.",
    "docs/language.md, Versions of the language.",
)  # fmt: skip

MALFORMED_STRING = _fault(
    "PLN033", "malformed-string", "A quoted string holds what no string can.",
    "strings reach scripts and file names; control characters and unknown escapes would arrive as something else.",
    _plan('launch { script = "a\\qb" }'), _plan('launch { script = "a\\\\qb" }'),
    "the escapes are `\\\"`, `\\\\`, `\\n` and `\\t`; other control characters cannot be written.",
    "docs/language.md, Text.",
)  # fmt: skip

FAULTS = (
    UNKNOWN_NAME, UNKNOWN_FIELD, MISSING_FIELD, WRITTEN_TWICE, WRONG_TYPE, OUT_OF_RANGE, UNKNOWN_WORD, UNKNOWN_TARGET,
    MALFORMED_NUMBER, UNKNOWN_UNIT, CIRCULAR, UNUSABLE_IMPORT, AMBIGUOUS_NAME, MISPLACED,
    DIVISION_BY_ZERO, DERIVED_SET, UNSOLVABLE, CONFLICTING_TRAINERS, UNKNOWN_FUNCTION, OPEN_FIELD, TOO_COMPLEX,
    UNKNOWN_LANGUAGE, MALFORMED_STRING, NO_CANDIDATE, DECIMAL_SUFFIX,
    UNLIKE_GROUPS,
)  # fmt: skip
