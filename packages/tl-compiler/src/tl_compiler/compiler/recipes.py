"""How the objects that a call returns and stores are built again from the results of its graph."""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable
from types import CellType, FunctionType, NoneType
from typing import Any, NamedTuple

import tl_core
from tl_core import pytree
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from .object_parts import assemble, dissect
from .purity import is_ours, is_standard
from .state import ABSENT, State

__all__ = ["Effect", "Recipe", "RecipeBook", "Undescribable", "build", "repeat"]

CONSTANTS = (
    bool, int, float, complex, str, bytes, NoneType, tl_core.dtype, tl_core.device, tl_core.layout,
    tl_core.memory_format, type(Ellipsis), type(NotImplemented), range,
)  # fmt: skip

NODE_ARGUMENTS = (*CONSTANTS, tl_core.Tensor, SymInt, SymFloat, SymBool, slice)
"""The leaves of the arguments of a node, which code of graphs can have."""

Recipe = tuple[str, Any]
"""How to get an object: a kind, and what the kind needs.

`output`, `state`, `object`, `cell`, `part`: an index among the results of the graph, the tensors of the state, its
objects, its variables of enclosing functions, the parts of the book. `size`: an expression of symbols and a type.
`constant`: the object.
"""


class Undescribable(Exception):
    """An object can't be built again.

    Args:
        reason: why.
    """


class Part(NamedTuple):
    """A new object.

    Args:
        make: gets the recipes' objects, and returns the object.
        recipes: what it consists of.
    """

    make: Callable[[list[Any]], Any]
    recipes: list[Recipe]


class Effect(NamedTuple):
    """A change that a call makes to what the program holds.

    Args:
        kind: `item`: of a dictionary. `deletion`: of a key. `contents`: of a container. `attribute`: of a module or
            class. `variable`: a global one. `cell`: a variable of an enclosing function. `slot`: of an object.
        target: the number of the object; that of the variable, cell or slot among those of the state.
        name: the recipe of the key, or the name of the attribute.
        recipes: the new value, or all items.
    """

    kind: str
    target: int
    name: Any
    recipes: list[Recipe]


class RecipeBook:
    """The recipes of one call.

    Args:
        state: that of the call.
        tensor: the recipe of a tensor of the trace.
        number: the recipe of a symbolic number.
        numbers: the number in the state of each object that stands for one of the arguments, by its id.
        unknown: the ids of objects that stand for arguments and aren't to be told from new ones.
    """

    def __init__(
        self,
        state: State,
        tensor: Callable[[Any], Recipe],
        number: Callable[[Any], Recipe],
        numbers: dict[int, int],
        unknown: set[int],
    ) -> None:
        self.state, self.tensor, self.number = state, tensor, number
        self.numbers, self.unknown = {**state.ids, **numbers}, unknown
        self.cells = {id(cell): i for i, (cell, _) in enumerate(state.cells)}
        self.parts: list[Part] = []
        self._indices: dict[int, int] = {}  # of parts, by the id of their object
        self._pending: set[int] = set()
        self._kept: list[Any] = []

    def recipe(self, x: Any) -> Recipe:
        """How to get an object.

        Args:
            x: the object of the trace.

        Raises:
            Undescribable: the object is of a kind that can't be built again.
        """
        if isinstance(x, tl_core.Tensor):
            return self.tensor(x)
        if isinstance(x, (SymInt, SymFloat, SymBool)):
            return self.number(x)
        number = self.numbers.get(id(x))
        if number is not None:
            return "object", number
        if type(x) in CONSTANTS or isinstance(x, enum.Enum) or _is_fixed(x):
            return "constant", x
        if type(x) is CellType and id(x) in self.cells:
            return "cell", self.cells[id(x)]
        if id(x) in self._indices:
            return "part", self._indices[id(x)]
        if id(x) in self._pending or id(x) in self.unknown:
            raise Undescribable(
                f"the result has an object of {_name(x)} that contains itself, or an argument"
            )
        self._pending.add(id(x))
        make, items = _dissect(x)
        part = Part(make, [self.recipe(item) for item in items])
        self._pending.discard(id(x))
        self._kept.append(x)
        self._indices[id(x)] = len(self.parts)
        self.parts.append(part)
        return "part", self._indices[id(x)]

    def effects(self, contents: list[tuple[Any, Any, int]]) -> list[Effect]:
        """What the call has changed.

        Args:
            contents: containers that stand for arguments, what they held, and the number of each argument.
        """
        result: list[Effect] = []
        for container, before in self.state.contents:
            result += self._of_container(container, before, self.state.ids[id(container)])
        for container, before, number in contents:
            result += self._of_container(container, before, number)
        for owner, name, value in self.state.attributes:
            now = vars(owner).get(name, ABSENT)
            if now is not value:
                if now is ABSENT:
                    raise Undescribable(f"the attribute {name} is deleted")
                result.append(Effect("attribute", self.state.ids[id(owner)], name, [self.recipe(now)]))
        for kind, variables, read in (
            ("variable", self.state.variables, _variable),
            ("cell", self.state.cells, _cell),
            ("slot", self.state.slots, _slot),
        ):
            for i, variable in enumerate(variables):
                now = read(variable)
                if now is not variable[-1]:
                    if now is ABSENT:
                        raise Undescribable("a variable is deleted")
                    result.append(Effect(kind, i, None, [self.recipe(now)]))
        return result

    def _of_container(self, container: Any, before: Any, number: int) -> list[Effect]:
        if isinstance(container, dict):
            return self._of_mapping(container, before, number)
        now = list(container)
        if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
            return []
        return [Effect("contents", number, None, [self.recipe(x) for x in now])]

    def _of_mapping(
        self, mapping: dict[Any, Any], before: list[tuple[Any, Any]], number: int
    ) -> list[Effect]:
        old, result = dict(before), list[Effect]()
        result += [Effect("deletion", number, self.recipe(key), []) for key in old if key not in mapping]
        result += [
            Effect("item", number, self.recipe(key), [self.recipe(value)])
            for key, value in mapping.items()
            if key not in old or old[key] is not value
        ]
        remaining = [key for key in old if key in mapping]
        if result and list(mapping)[: len(remaining)] != remaining:
            raise Undescribable("a dictionary has its entries in another order")
        return result


def _variable(entry: tuple[Any, str, Any]) -> Any:
    return entry[0].get(entry[1], ABSENT)


def _cell(entry: tuple[Any, Any]) -> Any:
    try:
        return entry[0].cell_contents
    except ValueError:
        return ABSENT


def _slot(entry: tuple[Any, str, Any]) -> Any:
    return getattr(entry[0], entry[1], ABSENT)


def _name(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}"


def _is_fixed(x: Any) -> bool:
    """Whether an object outlives all calls: a class, a function or a module of this library or of Python."""
    if isinstance(x, (type, type(len))):
        return is_ours(x.__module__) or is_standard(x.__module__)
    if isinstance(x, slice):
        return all(type(n) in CONSTANTS for n in (x.start, x.stop, x.step))
    return False


# ---- taking objects apart: what they consist of, and how they are put together
def _dissect(x: Any) -> tuple[Callable[[list[Any]], Any], list[Any]]:
    kind = type(x)
    if kind in (list, tuple, set, frozenset):
        return kind, list(x)
    if kind is tl_core.Size:
        return tl_core.Size, list(x)
    if kind is CellType:
        return lambda items: CellType(*items), [] if _cell((x, None)) is ABSENT else [x.cell_contents]
    if kind is FunctionType and not is_ours(x.__module__):
        return _dissect_function(x)
    if kind is slice:
        return lambda items: slice(*items), [x.start, x.stop, x.step]
    if kind is collections.deque:
        length = x.maxlen
        return lambda items: collections.deque(items, length), list(x)
    if kind in (dict, collections.OrderedDict, collections.Counter):
        return lambda items: kind(zip(items[::2], items[1::2], strict=True)), _pairs(x)
    if kind is collections.defaultdict:
        return _default_dict, [x.default_factory, *_pairs(x)]
    if pytree.node_type(x) in pytree.SUPPORTED_NODES:
        items, spec = pytree.tree_flatten(x, is_leaf=lambda each: each is not x)
        return spec.unflatten, items
    return _dissect_object(x)


def _pairs(x: dict[Any, Any]) -> list[Any]:
    return [each for pair in x.items() for each in pair]


def _default_dict(items: list[Any]) -> Any:
    return collections.defaultdict(items[0], zip(items[1::2], items[2::2], strict=True))


def _dissect_function(x: FunctionType) -> tuple[Callable[[list[Any]], Any], list[Any]]:
    """A function that the call defines, by its code and the values that it holds."""
    code, namespace, name, module = x.__code__, x.__globals__, x.__name__, x.__module__
    qualified, text = x.__qualname__, x.__doc__

    def make(items: list[Any]) -> Any:
        result = FunctionType(code, namespace, name, items[0], tuple(items[3:]))
        result.__kwdefaults__, result.__module__, result.__qualname__ = items[1], module, qualified
        result.__doc__ = text
        result.__dict__.update(items[2])
        return result

    return make, [x.__defaults__, x.__kwdefaults__, dict(x.__dict__), *(x.__closure__ or ())]


def _dissect_object(x: Any) -> tuple[Callable[[list[Any]], Any], list[Any]]:
    """An object of a class of the program, by its items, attributes and slots."""
    kind = type(x)
    parts = dissect(x)
    if parts is None or is_ours(kind.__module__) or is_standard(kind.__module__):
        raise Undescribable(f"the result has an object of {_name(x)}")
    layout, n = parts._replace(items=[], values=[]), len(parts.items) + 1

    def make(items: list[Any]) -> Any:
        return assemble(layout._replace(cls=items[0], items=items[1:n], values=items[n:]))

    return make, [kind, *parts.items, *parts.values]


# ---- at each call
def build(parts: list[Part], outputs: Any, state: State, values: Any) -> Callable[[Recipe], Any]:
    """Builds the new objects of a call.

    Args:
        parts: the new objects.
        outputs: the results of the graph.
        state: that of the call.
        values: the values of symbols.

    Returns:
        A function from recipes to objects.
    """
    objects: list[Any] = []

    def get(recipe: Recipe) -> Any:
        kind, x = recipe
        if kind == "output":
            return outputs[x]
        if kind == "state":
            return state.tensors[x]
        if kind == "size":
            return x[1](x[0].evaluate(values))
        if kind == "object":
            return state.objects[x]
        if kind == "cell":
            return state.cells[x][0]
        return objects[x] if kind == "part" else x

    for part in parts:  # a part consists of earlier ones
        objects.append(part.make([get(each) for each in part.recipes]))  # noqa: PERF401
    return get


def repeat(effects: list[Effect], state: State, get: Callable[[Recipe], Any]) -> None:
    """Makes the changes of a call.

    Args:
        effects: the changes.
        state: that of the call.
        get: from recipes to objects.
    """
    changes = [(e, [get(each) for each in e.recipes]) for e in effects]
    for effect, items in changes:
        if effect.kind == "variable":
            namespace, name, _ = state.variables[effect.target]
            namespace[name] = items[0]
        elif effect.kind == "cell":
            state.cells[effect.target][0].cell_contents = items[0]
        elif effect.kind == "slot":
            setattr(*state.slots[effect.target][:2], items[0])
        elif effect.kind == "attribute":
            setattr(state.objects[effect.target], effect.name, items[0])
        elif effect.kind == "item":
            dict.__setitem__(state.objects[effect.target], get(effect.name), items[0])
        elif effect.kind == "deletion":
            dict.__delitem__(state.objects[effect.target], get(effect.name))
        else:
            _fill(state.objects[effect.target], items)


def _fill(container: Any, items: list[Any]) -> None:
    container.clear()
    if isinstance(container, set):
        container.update(items)
    else:
        container.extend(items)
