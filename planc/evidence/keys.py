"""Ed25519 keys, as OpenSSL (PEM) and ssh-keygen write them."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"

#: A signature that nobody makes: the neutral point and 0. Under a point of small order, which is 8 at most, it holds of
#: every eighth message or more; under any other, of one in 2^252.
_OF_NOBODY = bytes([1, *[0] * 63])
_TRIED = 64  # messages; for each of the 14 ways to write such a point it holds of some of them

_HINT = "`openssl genpkey -algorithm ed25519` and `ssh-keygen -t ed25519` make such keys"


class Unusable(Exception):
    """Why a file holds no key that can be used."""


def private_key(content: bytes) -> Ed25519PrivateKey:
    """The private key in a file's content."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    load = serialization.load_ssh_private_key if _OPENSSH in content else serialization.load_pem_private_key
    key = _loaded(load, "private", content, None)
    if not isinstance(key, Ed25519PrivateKey):
        raise Unusable(f"it is no Ed25519 key; {_HINT}")
    return key


def public_key(content: bytes) -> Ed25519PublicKey:
    """The public key in a file's content."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if b"PRIVATE KEY" in content:
        raise Unusable("it is a private key, which nobody needs to check a signature; name the public one")
    is_pem = b"-----BEGIN" in content
    load: Any = serialization.load_pem_public_key if is_pem else serialization.load_ssh_public_key
    key = _loaded(load, "public", content)
    if not isinstance(key, Ed25519PublicKey):
        raise Unusable(f"it is no Ed25519 key; {_HINT}")
    if _is_of_anybody(key):
        raise Unusable("it is a point of small order, for which anybody can sign; no program makes such a key")
    return key


def _is_of_anybody(key: Ed25519PublicKey) -> bool:
    """Whether signatures of a key can be made without its private half."""
    from cryptography.exceptions import InvalidSignature

    for number in range(_TRIED):
        try:
            key.verify(_OF_NOBODY, b"%d" % number)
        except InvalidSignature:
            continue
        return True
    return False


def keyid_of(key: Ed25519PublicKey) -> str:
    """The name of a key: SHA-256 of its DER form (SubjectPublicKeyInfo)."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _loaded(load: Any, kind: str, *arguments: Any) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return load(*arguments)
    except TypeError:  # what both loaders raise of a key that asks for a passphrase
        raise Unusable("it is encrypted, and planc asks for no passphrase; name a key that is not") from None
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(f"it is no {kind} key in PEM or OpenSSH form; {_HINT}") from None
