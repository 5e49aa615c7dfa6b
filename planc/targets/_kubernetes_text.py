"""Text as Kubernetes takes it: the forms of names, labels, amounts and paths, and YAML documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from planc.targets._shell import HEADER

if TYPE_CHECKING:
    from yaml import SafeDumper

LONGEST = 63  # characters of a label of DNS

_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_AMOUNT = re.compile(r"([0-9]{1,15}(\.[0-9]{1,9})?|\.[0-9]{1,9})([KMGTPE]i|[numkMGTPE]|[eE][0-9]{1,2})?")
_IMAGE = re.compile(
    r"([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*(:[0-9]{1,5})?/)?"
    r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[0-9a-fA-F]{32,})?"
)

#: Words that no reader of YAML takes for a number, a truth or a date.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*[A-Za-z0-9]")
_TRUTHS = frozenset(("yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))


def is_name(text: str) -> bool:
    """Whether an object and its Service may be called so: a label of RFC 1035."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def is_namespace(text: str) -> bool:
    """Whether it is a label of RFC 1123, which may begin with a digit."""
    return len(text) <= LONGEST and _LABEL.fullmatch(text) is not None


def is_domain(text: str) -> bool:
    """Whether it is a name with dots, as those of queues and volume claims."""
    return len(text) <= 253 and all(_LABEL.fullmatch(part) for part in text.split("."))


def is_key(text: str) -> bool:
    """Whether it is the key of a label or the name of a resource: a part, and perhaps a domain before it."""
    domain, slash, part = text.rpartition("/")
    return (not slash or is_domain(domain)) and len(part) <= LONGEST and _PART.fullmatch(part) is not None


def is_value(text: str) -> bool:
    """Whether it is the value of a label."""
    return text == "" or (len(text) <= LONGEST and _PART.fullmatch(text) is not None)


def is_amount(text: str) -> bool:
    """Whether it is an amount above 0, such as `16Gi`."""
    match = _AMOUNT.fullmatch(text)
    return match is not None and any(digit in match[1] for digit in "123456789")


def is_image(text: str) -> bool:
    """Whether a registry may hold an image of this name; images of enroot and apptainer are files."""
    return _IMAGE.fullmatch(text) is not None and not text.endswith((".sqsh", ".sif"))


def is_folder(text: str) -> bool:
    """Whether it is an absolute path that may be mounted."""
    return text.startswith("/") and ":" not in text and ".." not in text.split("/")


def name_from(text: str) -> str:
    """The nearest name that an object may have; empty if the text has no letter."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).lstrip("-0123456789").rstrip("-")


def escaped(text: str) -> str:
    """The text so written that Kubernetes, which expands `$(NAME)` in the variables of a pod, leaves it as it is."""
    return text.replace("$", "$$")


def documents(objects: Sequence[Mapping[str, Any]]) -> str:
    """The objects as one text of YAML below the header, ending in a newline.

    Text is quoted wherever YAML 1.1 or 1.2 could take it for something else; several lines stand as lines.
    """
    import yaml

    parts = [
        yaml.dump(item, Dumper=_dumper(), sort_keys=False, allow_unicode=False, width=float("inf")) for item in objects
    ]
    return f"# {HEADER}\n" + "---\n".join(parts)


@cache
def _dumper() -> type[SafeDumper]:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Of safe types; nothing is an anchor or alias, which a merge of manifests would lose."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

    Dumper.add_representer(str, _text)
    return Dumper


def _text(dumper: SafeDumper, text: str) -> Any:
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _TRUTHS
    style = None if plain else "|" if "\n" in text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
