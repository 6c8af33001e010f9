"""Replay of calls: whatever state of Python a call reads, a later change of this state is seen."""

from __future__ import annotations

import collections
import dataclasses
import enum
import types
from typing import Any

import pytest

import tl_core as tl
from tl_compiler import _C
from tl_compiler.compiler import compile  # noqa: A004

recorded = pytest.mark.skipif(not _C.reads_frames(), reason="calls are recorded on CPython 3.11 only")
Pair = collections.namedtuple("Pair", "a b")
NUMBER = 2


class Color(enum.Enum):
    RED = 2
    BLUE = 5


class Slotted:
    __slots__ = ("k",)

    def __init__(self) -> None:
        self.k = 2


class Lazy:
    """An object whose attributes are computed."""

    def __init__(self) -> None:
        self._k = 2

    @property
    def k(self) -> int:
        return self._k

    @staticmethod
    def double(n: int) -> int:
        return 2 * n

    @classmethod
    def name(cls) -> str:
        return cls.__name__

    def __getattr__(self, name: str) -> int:
        if name == "missing":
            return int(self._k) + 1
        raise AttributeError(name)


@dataclasses.dataclass
class Record:
    k: int = 2


class Setter:
    """An object that sets its attributes past its own `__setattr__`."""

    def __init__(self) -> None:
        object.__setattr__(self, "k", 2)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def state() -> types.SimpleNamespace:
    return types.SimpleNamespace(
        values=[1, 2, 3], table={"k": 2, "other": 7}, members={1, 2}, pair=Pair(2, 7), slotted=Slotted(), lazy=Lazy(),
        record=Record(), color=Color.RED, text="ab", number=2, setter=Setter(), flag=True, none=None,
        deep={"list": [{"k": 2}]}, rows=[(1, 2), (3, 4)], function=lambda x: x * 2,
    )  # fmt: skip


def set_global(number: int) -> None:
    globals()["NUMBER"] = number


# A function of the input and the state, and a change of the state.
READS: dict[str, tuple[Any, Any]] = {
    "an element": (lambda x, s: x * s.values[1], lambda s: s.values.__setitem__(1, 9)),
    "the last element": (lambda x, s: x * s.values[-1], lambda s: s.values.append(9)),
    "a slice": (lambda x, s: x * sum(s.values[:2]), lambda s: s.values.insert(0, 9)),
    "a length": (lambda x, s: x * len(s.values), lambda s: s.values.pop()),
    "a loop": (lambda x, s: sum((x * v for v in s.values), x), lambda s: s.values.append(4)),
    "an entry": (lambda x, s: x * s.table["k"], lambda s: s.table.update(k=9)),
    "an entry or a default": (lambda x, s: x * s.table.get("new", 3), lambda s: s.table.update(new=9)),
    "a key": (lambda x, s: x * (5 if "new" in s.table else 3), lambda s: s.table.update(new=1)),
    "no key": (lambda x, s: x * (5 if "k" not in s.table else 3), lambda s: s.table.pop("k")),
    "all keys": (lambda x, s: x * len("".join(s.table)), lambda s: s.table.update(new=1)),
    "all entries": (lambda x, s: x * sum(v for _, v in s.table.items()), lambda s: s.table.update(new=1)),
    "a member of a set": (lambda x, s: x * (5 if 2 in s.members else 3), lambda s: s.members.discard(2)),
    "a field of a tuple": (lambda x, s: x * s.pair.a, lambda s: setattr(s, "pair", Pair(9, 9))),
    "parts of a tuple": (lambda x, s: x * s.pair[0] + s.pair[1], lambda s: setattr(s, "pair", Pair(9, 9))),
    "a slot": (lambda x, s: x * s.slotted.k, lambda s: setattr(s.slotted, "k", 9)),
    "a property": (lambda x, s: x * s.lazy.k, lambda s: setattr(s.lazy, "_k", 9)),
    "a missing attribute": (lambda x, s: x * s.lazy.missing, lambda s: setattr(s.lazy, "_k", 9)),
    "a static method": (lambda x, s: x * s.lazy.double(s.number), lambda s: setattr(s, "number", 9)),
    "a class method": (
        lambda x, s: x * len(s.lazy.name()),
        lambda s: setattr(s, "lazy", type("Longer", (Lazy,), {})()),
    ),
    "a data class": (lambda x, s: x * s.record.k, lambda s: setattr(s.record, "k", 9)),
    "equal records": (
        lambda x, s: x * (5 if s.record == Record(2) else 3),
        lambda s: setattr(s.record, "k", 9),
    ),
    "an enumeration": (lambda x, s: x * s.color.value, lambda s: setattr(s, "color", Color.BLUE)),
    "the identity of a member": (
        lambda x, s: x * (5 if s.color is Color.RED else 3),
        lambda s: setattr(s, "color", Color.BLUE),
    ),
    "a text": (lambda x, s: x * len(s.text.upper()), lambda s: setattr(s, "text", "abc")),
    "a comparison": (lambda x, s: x * (5 if s.number < 3 else 2), lambda s: setattr(s, "number", 3)),
    "arithmetic": (
        lambda x, s: x * (s.number**2 + s.number // 2 - s.number % 2),
        lambda s: setattr(s, "number", 5),
    ),
    "a negation": (lambda x, s: x * -s.number, lambda s: setattr(s, "number", 5)),
    "a choice": (lambda x, s: x if s.flag else -x, lambda s: setattr(s, "flag", False)),
    "both of two": (lambda x, s: x * ((s.flag and s.number) or 7), lambda s: setattr(s, "flag", False)),
    "not": (lambda x, s: x * (3 if not s.flag else 4), lambda s: setattr(s, "flag", False)),
    "none": (lambda x, s: x * (3 if s.none is None else s.none), lambda s: setattr(s, "none", 9)),
    "nested containers": (lambda x, s: x * s.deep["list"][0]["k"], lambda s: s.deep["list"][0].update(k=9)),
    "pairs": (lambda x, s: sum((x * a + b for a, b in s.rows), x), lambda s: s.rows.append((5, 6))),
    "a stored function": (lambda x, s: s.function(x), lambda s: setattr(s, "function", lambda x: x * 9)),
    "getattr": (lambda x, s: x * getattr(s, "number", 3), lambda s: setattr(s, "number", 9)),
    "getattr with a default": (lambda x, s: x * getattr(s, "absent", 3), lambda s: setattr(s, "absent", 9)),
    "hasattr": (lambda x, s: x * (5 if hasattr(s, "absent") else 3), lambda s: setattr(s, "absent", 1)),
    "isinstance": (
        lambda x, s: x * (5 if isinstance(s.number, int) else 3),
        lambda s: setattr(s, "number", 2.5),
    ),
    "an object that sets itself": (lambda x, s: x * s.setter.k, lambda s: setattr(s.setter, "k", 9)),
    "a new object": (lambda x, s: x * Setter().k * s.number, lambda s: setattr(s, "number", 9)),
    "a new record": (lambda x, s: x * Record(s.number).k, lambda s: setattr(s, "number", 9)),
    "a global": (lambda x, s: x * NUMBER, lambda s: set_global(NUMBER + 1)),
    "minimum and maximum": (lambda x, s: x * (max(s.values) - min(s.values)), lambda s: s.values.append(9)),
    "a sorted list": (lambda x, s: x * sorted(s.values)[0], lambda s: s.values.append(-4)),
    "any and all": (
        lambda x, s: x * (any(v > 8 for v in s.values) + 2 * all(s.values)),
        lambda s: s.values.append(9),
    ),
    "enumerate": (lambda x, s: x * sum(i * v for i, v in enumerate(s.values)), lambda s: s.values.append(9)),
    "zip": (lambda x, s: x * sum(a * b for a, b in zip(s.values, s.pair)), lambda s: s.values.insert(0, 9)),
    "a comprehension": (
        lambda x, s: x * [v * 2 for v in s.values if v > 1][-1],
        lambda s: s.values.append(9),
    ),
    "a formatted text": (lambda x, s: x * len(f"{s.number}-{s.text}"), lambda s: setattr(s, "text", "abc")),
    "a conversion": (lambda x, s: x * int(str(s.number)), lambda s: setattr(s, "number", 9)),
    "a size": (lambda x, s: x * (x.shape[0] + s.number), lambda s: setattr(s, "number", 9)),
    "keywords": (lambda x, s: tl.add(x, x, alpha=s.number), lambda s: setattr(s, "number", 9)),
}


@recorded
@pytest.mark.parametrize("name", READS)
def test_a_change_of_what_was_read_is_seen(name: str) -> None:
    program, change = READS[name]
    own = state()
    f = compile(lambda x: program(x, own), mode="reduce-overhead")
    x = tl.tensor([1.0, -2.0, 4.0])
    for _ in range(3):
        assert tl.equal(f(x), program(x, own))
    change(own)
    before = program(x, state())
    if name != "a global":
        assert not tl.equal(program(x, own), before)
    for _ in range(3):
        assert tl.equal(f(x), program(x, own))
    assert tl.equal(f(2 * x), program(2 * x, own))


def put(s: types.SimpleNamespace, name: str, value: Any) -> Any:
    setattr(s, name, value)
    return value


# Calls that change the state that was there before: each change happens at each call.
WRITES: dict[str, Any] = {
    "an attribute": lambda x, s: x * put(s, "number", s.number + 1),
    "an element": lambda x, s: (s.values.__setitem__(0, s.values[0] + 1), x * s.values[0])[1],
    "the end of a list": lambda x, s: (s.values.append(1), x * len(s.values))[1],
    "an entry": lambda x, s: (s.table.update(k=s.table["k"] + 1), x * s.table["k"])[1],
    "a set": lambda x, s: (s.members.add(len(s.members) + 1), x * len(s.members))[1],
    "a slot": lambda x, s: (setattr(s.slotted, "k", s.slotted.k + 1), x * s.slotted.k)[1],
    "an object that sets itself": lambda x, s: (setattr(s.setter, "k", s.setter.k + 1), x * s.setter.k)[1],
}


@recorded
@pytest.mark.parametrize("name", WRITES)
def test_a_change_by_the_call_happens_at_each_call(name: str) -> None:
    program, own, twin = WRITES[name], state(), state()
    f = compile(lambda x: program(x, own), mode="reduce-overhead")
    x = tl.tensor([1.0, -2.0, 4.0])
    for _ in range(5):
        assert tl.equal(f(x), program(x, twin))
    assert own.values == twin.values and own.table == twin.table and own.members == twin.members
    assert own.number == twin.number and own.slotted.k == twin.slotted.k and own.setter.k == twin.setter.k
