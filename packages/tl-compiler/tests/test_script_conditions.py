# ruff: noqa: UP006, UP007, UP035, UP045, E711 - TorchScript compiles these forms
"""Conditions of scripts: comparisons, `and`, `or`, `is`, `in` and questions about types, as Python answers them."""

from typing import Any, Dict, List, Optional, Tuple, Union

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_core import Tensor


def of_optional(x: Optional[int]) -> int:
    if isinstance(x, int):
        return x + 1
    return -1


def of_optional_tensor(x: Optional[Tensor]) -> Tensor:
    if not isinstance(x, Tensor):
        return tl.zeros(2)
    return x * 2


def of_union(x: Union[int, float, str]) -> str:
    if isinstance(x, int):
        return "int"
    if isinstance(x, (float, int)):
        return "float" if x > 0.0 else "small"
    return x + "!"


def of_union_rest(x: Union[int, List[int], None]) -> int:
    if isinstance(x, (int, list)):
        if isinstance(x, int):
            return x
        return len(x)
    return -5


def of_optional_union(x: Optional[Union[int, str]]) -> int:
    if isinstance(x, str):
        return len(x)
    if x is None:
        return 100
    return x


def of_any(x: Any) -> int:
    if isinstance(x, int):
        return x + 10
    if isinstance(x, (float, str)):
        return 2
    return 3


def of_known(
    x: int, y: List[str], z: Dict[str, int], t: Tuple[int, int]
) -> Tuple[bool, bool, bool, bool, bool]:
    return (
        isinstance(x, int),
        isinstance(x, str),
        isinstance(y, list),
        isinstance(z, dict),
        isinstance(t, tuple),
    )


def and_proves(x: Optional[int], y: Optional[int]) -> int:
    if x is not None and y is not None and x > y:
        return x - y
    return 0


def or_proves(x: Optional[int]) -> int:
    if x is None or x < 3:
        return 0
    return x


def both_none(x: Optional[int], y: Optional[int]) -> int:
    if x is None and y is None:
        return 1
    if x is None or y is None:
        return 2
    return 3


def none_on_the_left(x: Optional[int]) -> int:
    if None is not x:
        return 1
    return 2


def equal_to_none(x: Optional[int], y: int) -> Tuple[bool, bool]:
    return y == None, y != None


def chained(a: int, b: int, c: int) -> bool:
    return a < b <= c


def chained_more(a: float, b: float) -> Tuple[bool, bool, bool, bool, bool, bool]:
    return a < b, a <= b, a > b, a >= b, a == b, a != b


def constants() -> Tuple[bool, bool, bool, bool, bool, bool]:
    return 1 < 2, 2 <= 1, 3 > 3, 3 >= 3, 4 == 4.0, "a" != "b"


def negated(a: bool, b: bool) -> Tuple[bool, bool, bool]:
    return not a, not (a and b), not a or not b


def short_circuit(x: List[int], i: int) -> int:
    if i < len(x) and x[i] > 2:
        return x[i]
    if i >= len(x) or x[i] == 0:
        return -1
    return -2


def statements_in_conditions(x: List[int], y: Dict[str, int]) -> Tuple[bool, bool]:
    first = len(x) > 0 and [v * 2 for v in x][0] > 2  # noqa: RUF015 - scripts have no `next`
    second = len(y) == 0 or [v * 1 for v in y.values()][0] > 1  # noqa: RUF015
    return first, second


def in_lists(x: int, y: List[int], names: Dict[str, int], name: str) -> Tuple[bool, bool, bool, bool, bool]:
    return x in y, x not in y, name in names, name not in names, x in (1, 2, 3)


def in_texts(part: str, text: str) -> Tuple[bool, bool]:
    return part in text, part not in text


def in_known() -> Tuple[bool, bool, bool]:
    return 2 in (1, 2), 3 in (1, 2), 3 not in (1, 2)


def known_branches(x: Tensor) -> Tensor:
    if 1 > 2 and x.sum() > 0:
        return x
    if 2 > 1 or x.sum() > 0:
        x = x + 1
    if 2 > 1 and bool(x.sum() > 0):
        x = x + 2
    if 1 > 2 or bool(x.sum() < 0):
        x = x + 4
    return x


def of_tensors(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    return x < y, x == y, x != 2


PROGRAMS = {
    of_optional: [(1,), (None,)],
    of_optional_tensor: [(tl.ones(2),), (None,)],
    of_union: [(3,), (2.5,), (-2.5,), ("a",)],
    of_union_rest: [(7,), ([1, 2],), (None,)],
    of_optional_union: [(7,), ("abc",), (None,)],
    of_any: [(1,), (1.5,), ("a",), ([1],)],
    of_known: [(1, ["a"], {"a": 1}, (1, 2))],
    and_proves: [(5, 3), (3, 5), (None, 1), (1, None), (4, 4)],
    or_proves: [(None,), (2,), (3,), (9,)],
    both_none: [(None, None), (1, None), (None, 1), (1, 1)],
    none_on_the_left: [(1,), (None,)],
    equal_to_none: [(1, 2)],
    chained: [(1, 2, 2), (2, 2, 3), (1, 3, 2)],
    chained_more: [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)],
    constants: [()],
    negated: [(a, b) for a in (False, True) for b in (False, True)],
    short_circuit: [([1, 5, 0], i) for i in range(4)],
    statements_in_conditions: [([], {}), ([1], {"a": 1}), ([2], {"a": 2})],
    in_lists: [(1, [1, 2], {"a": 1}, "a"), (4, [1, 2], {"a": 1}, "b")],
    in_texts: [("b", "abc"), ("d", "abc")],
    in_known: [()],
    known_branches: [(tl.ones(2),), (-3 * tl.ones(2),)],
    of_tensors: [(tl.tensor([1.0, 2.0, 3.0]), tl.tensor([2.0, 2.0, 2.0]))],
}


def listed(value):
    """A result with tensors as lists, and the class of each value."""
    if isinstance(value, Tensor):
        return value.dtype, value.tolist()
    return (type(value), *map(listed, value)) if isinstance(value, tuple) else (type(value), value)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_conditions_are_those_of_python(function):
    script = jit.script(function)
    for arguments in PROGRAMS[function]:
        assert listed(script(*arguments)) == listed(function(*arguments)), arguments


class Parts(nn.Module):
    """Layers whose classes and attributes a script reads."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.Tanh()])
        self.named = nn.ModuleDict({"a": nn.ReLU()})
        self.bound = 3

    def forward(self, x: Tensor) -> List[int]:
        counts = [0, 0, 0, 0]
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                counts[0] += 1
            if isinstance(layer, (nn.ReLU, nn.Tanh)):
                counts[1] += 1
        if hasattr(self, "bound"):
            counts[2] += self.bound
        if hasattr(self, "other"):
            counts[2] += 100
        if "a" in self.named:
            counts[3] += 1
        if "b" not in self.named:
            counts[3] += 2
        return counts


def test_questions_about_modules():
    model = Parts()
    assert jit.script(model)(tl.ones(2)) == model(tl.ones(2)) == [1, 2, 3, 3]


def wrong_optional(x: Optional[int]) -> bool:
    return x > 2


def wrong_text(x: str) -> bool:
    return x > 2


def bare_list(x: Any) -> bool:
    return isinstance(x, List)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            wrong_optional,
            r"value of type 'Tensor' for argument 'self' but instead found type 'Optional\[int\]'",
        ),
        (wrong_text, "value of type 'Tensor' for argument 'other' but instead found type 'int'"),
        (bare_list, "Attempted to use List without a contained type"),
    ],
)
def test_refused_conditions(function, text):
    with pytest.raises(RuntimeError, match=text):
        jit.script(function)


# ---- annotated expressions and questions about attributes
def annotated(n: int) -> Tuple[Optional[int], List[int], Dict[str, List[int]], Optional[Tensor]]:
    a = jit.annotate(Optional[int], 3)
    b = jit.annotate(List[int], [])
    c = jit.annotate(Dict[str, List[int]], {})
    d = jit.annotate(Optional[Tensor], None)
    for i in range(n):
        b.append(i)
    c["b"] = b
    if n > 1:
        a = None
    return a, b, c, d


@pytest.mark.parametrize("count", [0, 1, 2])
def test_annotated_expressions(count):
    assert jit.script(annotated)(count) == annotated(count)


def wrong_annotation(x: str):
    return jit.annotate(int, x)


@jit.script
class Pair:
    def __init__(self, first: int, second: int):
        self.first = first
        self.second = second

    def total(self) -> int:
        return self.first + self.second


def of_attributes(x: int) -> Tuple[bool, bool, bool]:
    pair = Pair(x, 2)
    return hasattr(pair, "first"), hasattr(pair, "total"), hasattr(pair, "third")


class Attributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2, bias=False)

    def forward(self, x: Tensor) -> Tuple[bool, bool, bool, bool]:
        return (
            hasattr(self.layer, "weight"),
            hasattr(self.layer, "absent"),
            hasattr(self, "forward"),
            hasattr(self.layer, "forward"),
        )


def test_attributes_of_objects():
    assert jit.script(of_attributes)(1) == (True, True, False)
    model = Attributes()
    assert jit.script(model)(tl.ones(2)) == model(tl.ones(2)) == (True, False, True, True)
    with pytest.raises(RuntimeError, match="expected an expression of type int but found str"):
        jit.script(wrong_annotation)
