"""A pickle as inert data: nothing that it names is imported, made or called.

Calls and classes become `Made` values under the name that the pickle has for them. Work and memory grow with the length
of the pickle and no faster: dicts are lists of pairs, so that nothing is hashed, and nothing is copied.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator, Sequence
from typing import Any

from planc.evidence.checkpoints.found import Unread, Unreadable


class Made:
    """A value that a pickle has made of something: `name` is that, such as `torch.Size`, or `dict`, `list`.

    arguments: what it was called with. items: what was put in, pairs of a dict. state: what it was told about itself.
    """

    __slots__ = ("arguments", "items", "name", "state")

    def __init__(self, name: str, arguments: Any = ()) -> None:
        self.name = name
        self.arguments = arguments
        self.items: Sequence[Any] = ()
        self.state: Any = None


class _Name(str):
    """A thing that the pickle names."""

    __slots__ = ()


def read(content: bytes) -> Any:
    """The value of a pickle; Unreadable if it is none, or uses what no checkpoint does."""
    return _run(content, ("", ""))


def read_between(content: bytes, key: str, following: str) -> Any:
    """The value of one key of a dict, read as far as the next key: what comes behind it is often most of a pickle.

    The value of the whole pickle where these keys do not stand one behind the other.
    """
    return _run(content, (key, following))


def _run(content: bytes, between: tuple[str, str]) -> Any:
    try:
        return _Machine().run(content, between)
    except Unreadable:
        raise
    except (ValueError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise Unreadable(f"it is no pickle: {str(error)[:80]}") from None


def fields(value: Any) -> dict[str, Any]:
    """The entries of a dict, or the fields of an object, that have texts for names."""
    if isinstance(value, Made) and isinstance(value.state, Made) and not value.items:
        value = value.state
    if not isinstance(value, Made):
        return {}
    return {key: item for key, item in _pairs(value) if isinstance(key, str)}


def entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of a dict in their order, as the pickle has them."""
    if isinstance(value, Made):
        yield from _pairs(value)


def whole_numbers(value: Any) -> tuple[int, ...] | None:
    """A `torch.Size`, or a tuple, of whole numbers; None for anything else."""
    if isinstance(value, Made) and value.name == "torch.Size" and len(value.arguments) == 1:
        value = value.arguments[0]
    if not isinstance(value, tuple) or _MOST_DIMENSIONS < len(value):
        return None
    return value if all(type(each) is int and 0 <= each < 1 << 63 for each in value) else None


#: Dimensions of a tensor; PyTorch has 64 at most.
_MOST_DIMENSIONS = 64

#: Steps of a pickle, and those that make or keep something, of a hundred bytes or so. A hostile one makes one by each
#: byte; the `.metadata` of torch 2.13 has 29 steps for each part of a tensor, which make 16.
_MOST_STEPS, _MOST_THINGS = 20_000_000, 10_000_000
_TOO_MUCH = "it lists more than planc reads at once"

_MARK = object()


def _pairs(value: Made) -> Iterator[tuple[Any, Any]]:
    return ((item[0], item[1]) for item in value.items if isinstance(item, tuple) and len(item) == 2)


class _Machine:
    """The stack and the memory of a pickle's program."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes, between: tuple[str, str]) -> Any:
        key, following = between
        left = _MOST_THINGS
        for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
            if _MOST_STEPS < number:
                raise Unread(_TOO_MUCH)
            name = opcode.name
            if name in _PUSHED:
                if following and argument == following and self.stack[-2:-1] == [key]:
                    return self.stack[-1]
                self.stack.append(argument)
                continue
            if name in _MAKING:
                left -= 1
                if left < 0:
                    raise Unread(_TOO_MUCH)
            step = _STEPS.get(name)
            if step is not None:
                step(self, argument)
            elif name == "STOP":
                return self.stack.pop()
            else:
                raise Unread(f"its pickle has {name}, which no checkpoint needs")
        raise Unreadable("its pickle has no end")

    def marked(self) -> list[Any]:
        """What lies above the last mark, which goes with it."""
        # Looked for from above: what has been walked over is taken off, so all walks are as long as the pickle.
        found = []
        while (value := self.stack.pop()) is not _MARK:
            found.append(value)
        found.reverse()
        return found

    def top(self) -> Made:
        value = self.stack[-1]
        if not isinstance(value, Made):
            raise Unreadable("its pickle adds to what holds nothing")
        return value

    def inside(self) -> list[Any]:
        """What the topmost value holds, to be added to."""
        value = self.top()
        if not isinstance(value.items, list):
            value.items = []
        return value.items


def _global(machine: _Machine, argument: str) -> None:
    machine.stack.append(_Name(argument.replace(" ", ".", 1)))


def _stack_global(machine: _Machine, argument: None) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(_Name(f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "?"))


def _call(machine: _Machine, argument: None) -> None:
    arguments, called = machine.stack.pop(), machine.stack.pop()
    name = str(called) if isinstance(called, _Name) else "?"
    machine.stack.append(Made(name, arguments if isinstance(arguments, tuple) else ()))


def _persistent(machine: _Machine, argument: None) -> None:
    machine.stack.append(Made("persistent", (machine.stack.pop(),)))


def _build(machine: _Machine, argument: None) -> None:
    state = machine.stack.pop()
    machine.top().state = state


def _tuple_of(count: int) -> Any:
    def step(machine: _Machine, argument: None) -> None:
        if len(machine.stack) < count:
            raise Unreadable("its pickle takes more than it has put down")
        machine.stack[-count:] = (tuple(machine.stack[-count:]),)

    return step


def _append(machine: _Machine, argument: None) -> None:
    value = machine.stack.pop()
    machine.inside().append(value)


def _appends(machine: _Machine, argument: None) -> None:
    values = machine.marked()
    machine.inside().extend(values)


def _set_item(machine: _Machine, argument: None) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.inside().append((key, value))


def _set_items(machine: _Machine, argument: None) -> None:
    values = machine.marked()
    if len(values) % 2:
        raise Unreadable("its pickle has a key without a value")
    machine.inside().extend(zip(values[::2], values[1::2], strict=True))


def _dict(machine: _Machine, argument: None) -> None:
    machine.stack.append(Made("dict"))


def _list(machine: _Machine, argument: None) -> None:
    machine.stack.append(Made("list"))


def _set(machine: _Machine, argument: None) -> None:
    machine.stack.append(Made("set"))


def _frozen_set(machine: _Machine, argument: None) -> None:
    machine.stack.append(Made("set", tuple(machine.marked())))


def _put(machine: _Machine, argument: int) -> None:
    machine.memo[argument] = machine.stack[-1]


def _memoize(machine: _Machine, argument: None) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


#: Opcodes that make or keep something, by one or two bytes.
_MAKING = frozenset({
    "EMPTY_DICT", "EMPTY_LIST", "EMPTY_SET", "FROZENSET", "REDUCE", "NEWOBJ", "BINPERSID", "GLOBAL", "STACK_GLOBAL",
    "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINPUT", "LONG_BINPUT", "MEMOIZE", "SETITEM",
})  # fmt: skip

#: Opcodes whose value is their argument.
_PUSHED = frozenset({
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINFLOAT",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "BINSTRING", "SHORT_BINSTRING",
})  # fmt: skip

_STEPS: dict[str, Any] = {
    "PROTO": lambda machine, argument: None,
    "FRAME": lambda machine, argument: None,
    "MARK": lambda machine, argument: machine.stack.append(_MARK),
    "NONE": lambda machine, argument: machine.stack.append(None),
    "NEWTRUE": lambda machine, argument: machine.stack.append(True),
    "NEWFALSE": lambda machine, argument: machine.stack.append(False),
    "POP": lambda machine, argument: machine.stack.pop(),
    "POP_MARK": lambda machine, argument: machine.marked(),
    "GLOBAL": _global, "STACK_GLOBAL": _stack_global,
    "REDUCE": _call, "NEWOBJ": _call, "BINPERSID": _persistent, "BUILD": _build,
    "EMPTY_TUPLE": lambda machine, argument: machine.stack.append(()),
    "TUPLE1": _tuple_of(1), "TUPLE2": _tuple_of(2), "TUPLE3": _tuple_of(3),
    "TUPLE": lambda machine, argument: machine.stack.append(tuple(machine.marked())),
    "EMPTY_DICT": _dict, "EMPTY_LIST": _list, "EMPTY_SET": _set, "FROZENSET": _frozen_set, "ADDITEMS": _appends,
    "APPEND": _append, "APPENDS": _appends, "SETITEM": _set_item, "SETITEMS": _set_items,
    "BINPUT": _put, "LONG_BINPUT": _put, "MEMOIZE": _memoize,
    "BINGET": lambda machine, argument: machine.stack.append(machine.memo[argument]),
    "LONG_BINGET": lambda machine, argument: machine.stack.append(machine.memo[argument]),
}  # fmt: skip
