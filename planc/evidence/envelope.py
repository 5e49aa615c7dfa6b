"""The envelope of a signed record: DSSE v1, one payload and signatures over its type and its bytes.

A signature covers the payload and its type, and not the `keyid`, which only says which key to try.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from planc.evidence.canonical import Unreadable, canonical
from planc.evidence.keys import keyid_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

TYPE = "application/vnd.in-toto+json"

MOST_SIGNATURES = 16


class Envelope(NamedTuple):
    """A payload with signatures of it that nobody has checked."""

    payload: bytes
    type: str
    signatures: tuple[bytes, ...]


def signed(payload: bytes, key: Ed25519PrivateKey) -> bytes:
    """The text of an envelope around a payload, with one signature."""
    signature = {"keyid": keyid_of(key.public_key()), "sig": _base64(key.sign(_covered(TYPE, payload)))}
    return canonical({"payload": _base64(payload), "payloadType": TYPE, "signatures": [signature]})


def opened(document: Mapping[str, Any]) -> Envelope:
    """The envelope in the data of a document; Unreadable if it is none."""
    _refuse_more(document, ("payload", "payloadType", "signatures"), "its envelope")
    entries = document.get("signatures")
    if not isinstance(entries, list) or not 0 < len(entries) <= MOST_SIGNATURES:
        raise Unreadable(f"its envelope has no list of 1 to {MOST_SIGNATURES} signatures")
    if document.get("payloadType") != TYPE:
        raise Unreadable(f"its envelope holds no `{TYPE}`")
    if any(not isinstance(entry, dict) for entry in entries):
        raise Unreadable("a signature of its envelope is no object")
    for entry in entries:
        _refuse_more(entry, ("keyid", "sig"), "a signature of its envelope")
        if not isinstance(entry.get("keyid", ""), str):
            raise Unreadable("the `keyid` of a signature of its envelope is no text")
    signatures = tuple(_bytes(entry.get("sig"), "a signature") for entry in entries)
    return Envelope(_bytes(document.get("payload"), "the payload"), TYPE, signatures)


def is_signed_by(envelope: Envelope, key: Ed25519PublicKey) -> bool:
    """Whether one of the signatures was made with the private half of a key."""
    from cryptography.exceptions import InvalidSignature

    for signature in envelope.signatures:
        try:
            key.verify(signature, _covered(envelope.type, envelope.payload))
        except InvalidSignature:
            continue
        return True
    return False


def _refuse_more(found: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    """Refuses what no signature covers, which a reader could take for signed."""
    more = sorted({*found} - {*known})
    if more:
        raise Unreadable(f"{what} has `{more[0][:40]}`, which no signature covers")


def _covered(kind: str, payload: bytes) -> bytes:
    """The bytes that are signed: no two pairs of type and payload give the same."""
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _bytes(text: Any, what: str) -> bytes:
    """The bytes of a text in base64, which has one text only for them."""
    if not isinstance(text, str):
        raise Unreadable(f"{what} of its envelope is missing")
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = None
    if content is None or _base64(content) != text:
        raise Unreadable(f"{what} of its envelope is not in base64")
    return content
