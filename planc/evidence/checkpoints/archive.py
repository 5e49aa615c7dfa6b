"""The pickle in a file of `torch.save`, which is a ZIP archive: the tensors beside it are not read."""

from __future__ import annotations

import zipfile
from typing import IO, Any, cast

from planc.evidence.checkpoints import pickled
from planc.evidence.checkpoints.found import Unread, Unreadable
from planc.evidence.checkpoints.pickled import Made

#: Bytes of a pickle that is read.
MOST_BYTES = 32 << 20

#: Bytes that are read at once, of which the list of an archive's contents is the most.
_MOST_AT_ONCE = 16 << 20


#: How a file begins that PyTorch wrote before 1.6, or when it was told to: pickles one behind the other.
_OLDER = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


def check(file: IO[bytes]) -> None:
    """Raises what is wrong with a file, of which its ends alone are read: a copy that was broken off has no list."""
    start = file.read(len(_OLDER))
    if not start:
        raise Unreadable("it is empty")
    if start == _OLDER:
        raise Unread("it has the form of PyTorch before 1.6")
    try:
        is_whole = zipfile.is_zipfile(cast("IO[bytes]", _Bounded(file)))
    except ValueError:
        is_whole = False
    if not is_whole:
        raise Unreadable("it is no archive of `torch.save`, or is cut short")


def read(file: IO[bytes]) -> Any:
    """The value of the file, as `pickled.read` gives it."""
    check(file)
    try:
        with zipfile.ZipFile(cast("IO[bytes]", _Bounded(file))) as archive:
            found = [entry for entry in archive.infolist() if entry.filename.endswith("/data.pkl")]
            if len(found) != 1:
                raise Unreadable("it is not written by `torch.save`")
            (entry,) = found
            if entry.compress_type != zipfile.ZIP_STORED or MOST_BYTES < entry.file_size:
                raise Unread(f"its pickle is packed, or larger than {MOST_BYTES >> 20} MiB")
            content = archive.read(entry)
    except Unreadable:
        raise
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, OverflowError) as error:
        raise Unreadable(f"it is no archive of `torch.save`: {str(error)[:80]}") from None
    return pickled.read(content)


class _Bounded:
    """A file that reads only so much at once: what an archive says of its own sizes may be anything."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, count: int = -1) -> bytes:
        content = self._file.read(_MOST_AT_ONCE + 1 if count < 0 else min(count, _MOST_AT_ONCE + 1))
        if _MOST_AT_ONCE < len(content):
            raise Unread("its list of contents is too long")
        return content


def shape_of(value: Any) -> tuple[tuple[Any, ...], tuple[int, ...]] | None:
    """Where a tensor of the file lies, the same for two names of one tensor, and its shape; None for no tensor."""
    if isinstance(value, Made) and value.name == "torch._utils._rebuild_parameter" and value.arguments:
        value = value.arguments[0]
    if not isinstance(value, Made) or value.name != "torch._utils._rebuild_tensor_v2" or len(value.arguments) < 3:
        return None
    storage, offset, shape = value.arguments[:3]
    numbers = pickled.whole_numbers(shape)
    if numbers is None or not isinstance(storage, Made) or not storage.arguments:
        return None
    stored = storage.arguments[0]
    if not isinstance(stored, tuple) or len(stored) != 5 or not isinstance(stored[2], str) or type(offset) is not int:
        return None
    return (stored[2], offset, numbers), numbers
