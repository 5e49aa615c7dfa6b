"""Classes of layers by which FSDP wraps a model, against the model of the job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.native import faults
from planc.native.kind import Recognised
from planc.native.tree import Entry, Scalar, Seq, walk
from planc.plan.families import LAYER_CLASSES, is_of_another
from planc.plan.model import Plan
from planc.source import Span

#: How the key ends in the arguments of the Trainer, and in files of those who hand theirs to it; accelerate's own is an
#: option of its target, which a rule judges.
_KEY = "transformer_layer_cls_to_wrap"
_KINDS = ("transformers", "axolotl", "llama-factory")


def check(files: Sequence[Recognised], plan: Plan, place: Callable[[Span], Span]) -> Iterator[Diagnostic]:
    """A class that no layer of the model has, as another family has it or by a slip: FSDP stops before it trains.

    place: where in the files a place of the plan stands.
    """
    family = plan["model.family"]
    own = LAYER_CLASSES.get(family.value) if isinstance(family.value, str) else None
    if own is None:
        return
    for file in files:
        for entry in _entries(file) if file.kind.name in _KINDS else ():
            for node in entry.value.items if isinstance(entry.value, Seq) else (entry.value,):
                name = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else own
                if is_of_another(name, own):
                    message = f"a {family.value} model has no `{name}`"
                    related = (Label(place(family.entry), "the model"),)
                    fixes = (Fix(f"write `{own}`", (Edit(node.span, node.span.text.replace(name, own)),), safe=False),)
                    label, help = f"its layer is {own}", (f"write `{own}`",)
                    yield faults.CONFLICTING_SETTINGS.at(
                        node.span, message, label, related=related, help=help, fixes=fixes
                    )


def _entries(file: Recognised) -> Iterator[Entry]:
    for root in file.tree.roots:
        for each in walk(root):
            yield from (entry for entry in each.entries if entry.name.endswith(_KEY))
