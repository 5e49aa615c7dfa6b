"""The name of a file as text: a name may be any bytes, a text of JSON may not.

Bytes that are no UTF-8 are written `%80`, and so is `%` itself, as `%25`; so two names never have one text.
"""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\udc80-\udcff]")


def text_of(name: bytes) -> str:
    """The text of a name."""
    text = name.replace(b"%", b"%25").decode("utf-8", "surrogateescape")
    return _SURROGATE.sub(lambda match: f"%{ord(match[0]) - 0xDC00:02X}", text)


def fault_of(text: str) -> str:
    """Why a text from a record names no file in a folder; empty if it names one."""
    parts = text.split("/")
    if text.startswith("/"):
        return "it is an absolute path"
    if ".." in parts:
        return "it leads outside the folder"
    if "" in parts or "." in parts or "\0" in text:
        return "it is no path of a file"
    if re.search("%(?!25|[89A-F][0-9A-F])", text):
        return "it is not written as names are"
    return ""
