"""Modules that hold others."""

from collections import OrderedDict

import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn.modules.container import Container


def layers(count):
    return [nn.Linear(index + 1, 1) for index in range(count)]


def names(module):
    return list(module._modules)


def test_sequential_calls_in_order():
    model = nn.Sequential(OrderedDict(twice=Times(2.0), more=Plus(1.0)))
    assert model(tl.tensor(3.0)).item() == 7.0
    assert model.twice is model[0] and names(model) == ["twice", "more"]
    assert nn.Sequential()(5) == 5


class Times(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, input):
        return input * self.factor


class Plus(nn.Module):
    def __init__(self, term):
        super().__init__()
        self.term = term

    def forward(self, input):
        return input + self.term


@pytest.mark.parametrize("kind", [nn.Sequential, lambda *modules: nn.ModuleList(modules)])
def test_list_operations(kind):
    a, b, c, d = layers(4)
    held = kind(a, b)
    assert held.append(c) is held and len(held) == 3
    assert list(held) == [a, b, c] and held[-1] is c and held[1] is b
    held.insert(1, d)
    assert list(held) == [a, d, b, c] and names(held) == ["0", "1", "2", "3"]
    held[1] = c
    assert held[1] is c
    del held[1]
    assert list(held) == [a, b, c] and names(held) == ["0", "1", "2"]
    assert held.pop(0) is a and list(held) == [b, c] and names(held) == ["0", "1"]
    assert held.extend([a, d]) is held and len(held) == 4
    assert list(held[1:3]) == [c, a] and type(held[1:3]) is type(held)
    del held[::2]
    assert list(held) == [c, d]


@pytest.mark.parametrize("kind", [nn.Sequential, lambda *modules: nn.ModuleList(modules)])
def test_positions_out_of_range(kind):
    held = kind(nn.Tanh())
    for position in (1, -2):
        with pytest.raises(IndexError, match=f"index {position} is out of range"):
            held[position]
    with pytest.raises(IndexError, match="Index out of range: 3"):
        held.insert(3, nn.Tanh())
    with pytest.raises(AssertionError, match="module should be of type"):
        held.insert(0, 3)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        held.append(3)


def test_sequential_arithmetic():
    a, b = nn.Tanh(), nn.ReLU()
    left, right = nn.Sequential(a), nn.Sequential(b)
    assert list(left + right) == [a, b]
    left += right
    assert list(left) == [a, b]
    assert list(right * 2) == [b, b] and list(2 * right) == [b, b]
    right *= 3
    assert list(right) == [b, b, b]
    with pytest.raises(ValueError, match="only objects of Sequential class"):
        left + 3
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        left * 0
    with pytest.raises(TypeError, match="unsupported operand"):
        left * 1.5


def test_module_list():
    a, b = layers(2)
    held = nn.ModuleList([a])
    held += [b]
    assert list(held + nn.ModuleList([nn.Tanh()]))[:2] == [a, b]
    with pytest.raises(TypeError, match="should be called with an iterable, but got int"):
        held.extend(3)
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        held(1)


def test_module_list_prints_runs_once():
    held = nn.ModuleList([nn.Tanh(), nn.Tanh(), nn.Sequential(nn.ReLU()), nn.Tanh()])
    assert repr(held) == (
        "ModuleList(\n  (0-1): 2 x Tanh()\n  (2): Sequential(\n    (0): ReLU()\n  )\n  (3): Tanh()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    a, b = layers(2)
    held = nn.ModuleDict({"a": a})
    held.update([("b", b)])
    held["c"] = nn.Tanh()
    assert list(held) == ["a", "b", "c"] == list(held.keys()) and len(held) == 3
    assert "b" in held and held["b"] is b and next(iter(held.values())) is a
    assert dict(held.items())["a"] is a
    assert held.pop("a") is a
    del held["b"]
    held.update(nn.ModuleDict({"d": b}))
    assert list(held) == ["c", "d"]
    held.clear()
    assert len(held) == 0


@pytest.mark.parametrize("kind", [nn.ModuleDict, nn.ParameterDict])
def test_bad_pairs(kind):
    with pytest.raises(TypeError, match="iterable of key/value pairs, but got int"):
        kind(3)
    with pytest.raises(TypeError, match="update sequence element #0 should be Iterable"):
        kind([3])
    with pytest.raises(ValueError, match="update sequence element #0 has length 1; 2 is required"):
        kind([(3,)])


def test_parameter_list():
    held = nn.ParameterList([tl.ones(2), 3])
    held.append(tl.zeros(1)).extend([nn.Parameter(tl.ones(3))])
    assert len(held) == 4 and isinstance(held[0], nn.Parameter) and held[1] == 3
    assert [tuple(parameter.shape) for parameter in held.parameters()] == [(2,), (1,), (3,)]
    held[0] = tl.ones(5)
    assert held[-4].numel() == 5
    assert len(held[1:3]) == 2 and type(held[1:3]) is nn.ParameterList
    assert [value if value == 3 else value.numel() for value in held[1:3]] == [3, 1]
    with pytest.raises(IndexError, match="index 4 is out of range"):
        held[4]
    with pytest.raises(TypeError, match="should be called with an iterable"):
        held.extend(tl.ones(2))
    with pytest.raises(RuntimeError, match="should not be called"):
        held(1)
    assert "(0): Parameter containing: [torch.float32 of size 5]" in repr(held)
    assert "(1): Object of type: int" in repr(held)


def test_parameter_dict():
    held = nn.ParameterDict({"a": tl.ones(2), "n": 3})
    held["b"] = tl.zeros(1)
    assert list(held) == ["a", "n", "b"] and isinstance(held["b"], nn.Parameter)
    assert [name for name, _ in held.named_parameters()] == ["a", "b"]
    assert held.get("x", 5) == 5 and held.setdefault("a", 1) is held["a"]
    assert list(reversed(held)) == ["b", "n", "a"]
    assert [key for key, _ in held.items()] == list(held.keys())
    assert "(a): Parameter containing: [torch.FloatTensor of size 2]" in repr(held)
    copied = held.copy()
    assert copied["a"] is held["a"] and copied is not held
    assert held.popitem()[0] == "b" and held.pop("n") == 3 and len(held) == 1
    merged = held | nn.ParameterDict({"z": tl.ones(1)})
    assert list(merged) == ["a", "z"]
    held |= merged
    assert list(held) == ["a", "z"]
    assert list(held.fromkeys(["p", "q"], 1)) == ["p", "q"]
    held.clear()
    assert len(held) == 0 and list(held.parameters()) == []


def test_parameter_dict_refuses_keys():
    with pytest.raises(TypeError, match="cannot be used as a key as it is not a string"):
        nn.ParameterDict({3: tl.ones(1)})
    with pytest.raises(KeyError, match="attribute 'keys' already exists"):
        nn.ParameterDict({"keys": tl.ones(1)})


@pytest.mark.parametrize("kind", [nn.ModuleList, nn.ParameterList])
def test_names_of_positions(kind):
    held = kind([nn.Linear(1, 1) if kind is nn.ModuleList else tl.ones(1) for _ in range(3)])
    assert [held._get_abs_string_index(i) for i in (0, 2, -1, -3)] == ["0", "2", "2", "0"]
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="out of range"):
            held._get_abs_string_index(wrong)


def test_containers_of_older_programs():
    with pytest.warns(FutureWarning, match="deprecated"):
        container = Container(first=nn.ReLU())
    assert isinstance(container.first, nn.ReLU) and names(container) == ["first"]
