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
    container = kind(a, b)
    assert container.append(c) is container and len(container) == 3
    assert list(container) == [a, b, c] and container[-1] is c and container[1] is b
    container.insert(1, d)
    assert list(container) == [a, d, b, c] and names(container) == ["0", "1", "2", "3"]
    container[1] = c
    assert container[1] is c
    del container[1]
    assert list(container) == [a, b, c] and names(container) == ["0", "1", "2"]
    assert container.pop(0) is a and list(container) == [b, c] and names(container) == ["0", "1"]
    assert container.extend([a, d]) is container and len(container) == 4
    assert list(container[1:3]) == [c, a] and type(container[1:3]) is type(container)
    del container[::2]
    assert list(container) == [c, d]


@pytest.mark.parametrize("kind", [nn.Sequential, lambda *modules: nn.ModuleList(modules)])
def test_positions_out_of_range(kind):
    container = kind(nn.Tanh())
    for position in (1, -2):
        with pytest.raises(IndexError, match=f"index {position} is out of range"):
            container[position]
    with pytest.raises(IndexError, match="Index out of range: 3"):
        container.insert(3, nn.Tanh())
    with pytest.raises(AssertionError, match="module should be of type"):
        container.insert(0, 3)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        container.append(3)


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
    container = nn.ModuleList([a])
    container += [b]
    assert list(container + nn.ModuleList([nn.Tanh()]))[:2] == [a, b]
    with pytest.raises(TypeError, match="should be called with an iterable, but got int"):
        container.extend(3)
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        container(1)


def test_module_list_prints_runs_once():
    container = nn.ModuleList([nn.Tanh(), nn.Tanh(), nn.Sequential(nn.ReLU()), nn.Tanh()])
    assert repr(container) == (
        "ModuleList(\n  (0-1): 2 x Tanh()\n  (2): Sequential(\n    (0): ReLU()\n  )\n  (3): Tanh()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    a, b = layers(2)
    container = nn.ModuleDict({"a": a})
    container.update([("b", b)])
    container["c"] = nn.Tanh()
    assert list(container) == ["a", "b", "c"] == list(container.keys()) and len(container) == 3
    assert "b" in container and container["b"] is b and next(iter(container.values())) is a
    assert dict(container.items())["a"] is a
    assert container.pop("a") is a
    del container["b"]
    container.update(nn.ModuleDict({"d": b}))
    assert list(container) == ["c", "d"]
    container.clear()
    assert len(container) == 0


@pytest.mark.parametrize("kind", [nn.ModuleDict, nn.ParameterDict])
def test_bad_pairs(kind):
    with pytest.raises(TypeError, match="iterable of key/value pairs, but got int"):
        kind(3)
    with pytest.raises(TypeError, match="update sequence element #0 should be Iterable"):
        kind([3])
    with pytest.raises(ValueError, match="update sequence element #0 has length 1; 2 is required"):
        kind([(3,)])


def test_parameter_list():
    container = nn.ParameterList([tl.ones(2), 3])
    container.append(tl.zeros(1)).extend([nn.Parameter(tl.ones(3))])
    assert len(container) == 4 and isinstance(container[0], nn.Parameter) and container[1] == 3
    assert [tuple(parameter.shape) for parameter in container.parameters()] == [(2,), (1,), (3,)]
    container[0] = tl.ones(5)
    assert container[-4].numel() == 5
    assert len(container[1:3]) == 2 and type(container[1:3]) is nn.ParameterList
    assert [value if value == 3 else value.numel() for value in container[1:3]] == [3, 1]
    with pytest.raises(IndexError, match="index 4 is out of range"):
        container[4]
    with pytest.raises(TypeError, match="should be called with an iterable"):
        container.extend(tl.ones(2))
    with pytest.raises(RuntimeError, match="should not be called"):
        container(1)
    assert "(0): Parameter containing: [torch.float32 of size 5]" in repr(container)
    assert "(1): Object of type: int" in repr(container)


def test_parameter_dict():
    container = nn.ParameterDict({"a": tl.ones(2), "n": 3})
    container["b"] = tl.zeros(1)
    assert list(container) == ["a", "n", "b"] and isinstance(container["b"], nn.Parameter)
    assert [name for name, _ in container.named_parameters()] == ["a", "b"]
    assert container.get("x", 5) == 5 and container.setdefault("a", 1) is container["a"]
    assert list(reversed(container)) == ["b", "n", "a"]
    assert [key for key, _ in container.items()] == list(container.keys())
    assert "(a): Parameter containing: [torch.FloatTensor of size 2]" in repr(container)
    copied = container.copy()
    assert copied["a"] is container["a"] and copied is not container
    assert container.popitem()[0] == "b" and container.pop("n") == 3 and len(container) == 1
    merged = container | nn.ParameterDict({"z": tl.ones(1)})
    assert list(merged) == ["a", "z"]
    container |= merged
    assert list(container) == ["a", "z"]
    assert list(container.fromkeys(["p", "q"], 1)) == ["p", "q"]
    container.clear()
    assert len(container) == 0 and list(container.parameters()) == []


def test_parameter_dict_refuses_keys():
    with pytest.raises(TypeError, match="cannot be used as a key as it is not a string"):
        nn.ParameterDict({3: tl.ones(1)})
    with pytest.raises(KeyError, match="attribute 'keys' already exists"):
        nn.ParameterDict({"keys": tl.ones(1)})


@pytest.mark.parametrize("kind", [nn.ModuleList, nn.ParameterList])
def test_names_of_positions(kind):
    container = kind([nn.Linear(1, 1) if kind is nn.ModuleList else tl.ones(1) for _ in range(3)])
    assert [container._get_abs_string_index(i) for i in (0, 2, -1, -3)] == ["0", "2", "2", "0"]
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="out of range"):
            container._get_abs_string_index(wrong)


def test_containers_of_older_programs():
    with pytest.warns(FutureWarning, match="deprecated"):
        container = Container(first=nn.ReLU())
    assert isinstance(container.first, nn.ReLU) and names(container) == ["first"]
