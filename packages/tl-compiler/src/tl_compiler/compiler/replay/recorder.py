"""The functions of C that a call has called on tensors, as the steps of a tape."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core

from ..._C import memory_state, take_call
from .index_views import view_of_index
from .refusal import Refusal
from .results import ResultWriter
from .structures import Kind, Node, slots_in
from .tensor_rules import SETTINGS, TENSORS
from .world import IMMUTABLE, World, is_plain

__all__ = ["Effect", "Recorder", "Step"]

Tensor = tl_core.Tensor
_DROP, _KEEP, _UNPACK, _COMPARE, _NUMBER = range(5)  # `TapeStep::Result`


class Effect(enum.Enum):
    """What a function does beside its result."""

    BY_VERSION = 0  # whatever the versions of tensors and the random generator show
    GRAD = 1  # sets one gradient
    BACKWARD = 2  # changes gradients
    MODE = 3  # sets the mode of gradients
    GRAD_READ = 4  # reads a gradient


class Step(NamedTuple):
    """A call that has begun.

    Args:
        function: the function of C.
        args: the descriptions of its arguments.
        positional: how many of them have no name.
        names: the names of the others.
        effect: what it does beside.
        tensors: the tensors among its arguments, and the versions of them.
        generator: the state of the random generator before.
        is_known: whether the result follows from what the tape compares, if it isn't a tensor.
        key: the second argument, or None.
    """

    function: Callable[..., Any]
    args: tuple[Node, ...]
    positional: int
    names: tuple[str, ...]
    effect: Effect
    tensors: list[tuple[Any, tuple[int, int]]]
    generator: Any
    is_known: bool
    key: Any


class Recorder:
    """The tensors of a call, by number, and the steps.

    Args:
        args, kwargs: the arguments of the call.
        world: what the call reads.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], world: World) -> None:
        self.world = world
        self._slots: dict[int, int] = {}
        self._alive: list[Any] = []  # the tensors of slots and of the world, so that no id is used twice
        self._held: dict[int, list[Any]] = {}  # tensors of the world: (tensor, gradient)
        self._old_storages: set[int] = set()
        self.examples: list[Any] = []
        self.steps: list[list[Any]] = []
        self.has_written = False
        self.grads_known = True
        self.has_backward = False
        self.largest = 0  # elements of a result
        self.numbers: dict[int, tuple[float, list[Any]]] = {}  # that no instruction has read, and their steps
        self._facts: list[tuple[Any, tuple[Any, ...]]] = []
        for setting in SETTINGS:
            world.read_setting(setting, (), setting())
        self.args = self._argument(args)
        self.kwargs = self._argument(kwargs)

    # ---- arguments
    def _argument(self, value: Any) -> Node:
        kind = type(value)
        if kind in TENSORS:
            if id(value) not in self._slots:
                self.examples.append(value)
                self._note_old(value)
            return Kind.SLOT, self._slot(value)
        if isinstance(value, Tensor):
            raise Refusal(f"an argument is a tensor of the class {kind.__name__}")
        if kind is tuple or kind is list:
            return (Kind.TUPLE if kind is tuple else Kind.LIST), tuple(map(self._argument, value))
        if kind is dict:
            if not all(map(is_plain, value)):
                raise Refusal("an argument is a dictionary whose keys aren't numbers or texts")
            return Kind.DICT, tuple(map(self._argument, value.values())), tuple(value)
        return Kind.CONSTANT, value

    def _slot(self, t: Any) -> int:
        number = self._slots.get(id(t))
        if number is None:
            number = self._slots[id(t)] = len(self._slots)
            self._alive.append(t)
        return number

    def _note_old(self, t: Any) -> None:
        if t.layout is not tl_core.strided or t.is_inference() or t.is_quantized or t.has_names():
            raise Refusal("a tensor is sparse, nested, quantized, named, or of the inference mode")
        self._old_storages.add(memory_state(t)[0])
        self._facts.append((t, _facts(t)))

    # ---- tensors of the world
    def touch(self, t: Any) -> bool:
        """Notes a tensor that the call reads; whether it is one that the function holds.

        Args:
            t: the tensor.
        """
        if id(t) in self._slots:
            return False
        if type(t) not in TENSORS:
            raise Refusal(f"a tensor of the class {type(t).__name__} is read")
        if id(t) not in self._held:
            self._alive.append(t)
            self._note_old(t)
            may = self.grads_known and t.is_leaf and t.requires_grad
            self._held[id(t)] = [t, t.grad if may else NotImplemented]
        return True

    def note_old(self, t: Any) -> None:
        """Notes a tensor that was there before, but isn't held by name: a gradient.

        Args:
            t: the tensor.
        """
        self._note_old(t)

    def tracks_grad(self, t: Any) -> bool:
        """Whether it follows from what the tape compares if a tensor has a gradient.

        Args:
            t: the tensor.
        """
        return self.touch(t) and self._held[id(t)][1] is not NotImplemented

    # ---- values as descriptions
    @property
    def n_slots(self) -> int:
        """How many tensors and numbers have a slot."""
        return len(self._slots)

    def value_node(self, value: Any) -> Node:
        """The description of a tensor, or of a number of one.

        Args:
            value: the value.
        """
        if isinstance(value, Tensor) and self.touch(value):
            return Kind.CONSTANT, value
        return Kind.SLOT, self._slots[id(value)]

    def node(self, value: Any) -> Node:
        """The description of an argument of a step.

        Args:
            value: the value.
        """
        kind = type(value)
        if isinstance(value, Tensor):
            return self.value_node(value)
        if is_plain(value) or kind in IMMUTABLE:
            return Kind.CONSTANT, value
        if kind is slice:
            return Kind.SLICE, tuple(self.node(part) for part in (value.start, value.stop, value.step))
        if kind is tuple or kind is tl_core.Size:
            return Kind.TUPLE, tuple(map(self.node, value))
        if kind is list:
            self.world.read_all(value)
            return Kind.LIST, tuple(map(self.node, value))
        if kind is dict and all(map(is_plain, value)):
            self.world.read_all(value)
            return Kind.DICT, tuple(map(self.node, value.values())), tuple(value)
        raise Refusal(f"an argument is an object of the type {kind.__qualname__}")

    def holds_number(self, value: Any) -> bool:
        """Whether a value is a number of a tensor that no instruction has read, or a tuple with one.

        Args:
            value: the value.
        """
        return id(value) in self.numbers or (type(value) is tuple and any(map(self.holds_number, value)))

    def tensors_in(self, value: Any) -> list[Any]:
        """The tensors in a value.

        Args:
            value: a tensor, a container, or anything else.
        """
        if isinstance(value, Tensor):
            return [value]
        kind = type(value)
        if kind in (tuple, list):
            return [t for item in value for t in self.tensors_in(item)]
        return [t for item in value.values() for t in self.tensors_in(item)] if kind is dict else []

    # ---- steps
    def begin(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        effect: Effect = Effect.BY_VERSION,
        is_known: bool = False,
    ) -> Step:
        """A call that is about to happen.

        Args:
            function: the function of C.
            args, kwargs: its arguments.
            effect: what it does beside its result.
            is_known: whether a result that isn't a tensor follows from what the tape compares.
        """
        nodes = tuple(self.node(value) for value in (*args, *kwargs.values()))
        tensors = [(t, memory_state(t)) for t in self.tensors_in((args, kwargs))]
        generator = tl_core.get_rng_state() if effect is Effect.BY_VERSION else None
        take_call()  # from now on, the calls are those of this step
        key = args[1] if len(args) > 1 else None
        return Step(function, nodes, len(args), tuple(kwargs), effect, tensors, generator, is_known, key)

    def finish(self, step: Step, result: Any, *, may_carry: bool = False) -> None:
        """A call that has happened.

        Args:
            step: the call.
            result: its result.
            may_carry: whether the program has this object itself, so that it shows where the program reads it.
        """
        record = take_call()
        if record is None and step.function is operator.getitem:
            record = self._index(step, result)
        self._note_effect(step)
        if self.has_written and self.world.has_changes():
            raise Refusal("a tensor is written while an attribute or a variable has another value for a time")
        restarts = not self.has_written  # an operator that has begun to write can't begin again
        if may_carry and type(result) is float and not step.is_known and id(result) not in self.numbers:
            what = (self._slot(result),)
            self._append(step, _NUMBER, what, restarts)
            self.numbers[id(result)] = result, self.steps[-1]
            return
        kind, what = self._result(step, result, restarts)
        if kind != _DROP or not step.is_known or step.effect is not Effect.BY_VERSION:
            self._append(step, kind, what, restarts, self._native(step, record, result, kind))

    def _index(self, step: Step, result: Any) -> Any:
        """An index as the call of one operator. Where gradients are recorded, the index itself runs again."""
        x, key = step.tensors[0][0], step.key
        if not isinstance(result, Tensor) or x.requires_grad or x is result:
            return None
        view = view_of_index(x, key)
        if view is None:
            return None
        function, numbers = view
        again = function(x, *numbers)
        call = take_call()
        positions = [(*_facts(t), t.storage_offset(), memory_state(t)[0]) for t in (again, result)]
        if call is None or positions[0] != positions[1]:
            return None
        return call[0], call[1], (result,)

    def _append(self, step: Step, kind: int, what: Any, restarts: bool, native: Any = None) -> None:
        names = step.names or None
        self.steps.append(
            [step.function, step.args, step.positional, names, kind, what, restarts, (), native]
        )

    def _native(self, step: Step, record: Any, result: Any, kind: int) -> tuple[Any, ...] | None:
        """The call of the operator that a step is, if the step is nothing beside."""
        if record is None or step.effect is not Effect.BY_VERSION or kind not in (_DROP, _KEEP, _UNPACK):
            return None
        call, tensors, results = record
        items = () if result is None else result if kind == _UNPACK else (result,)
        if len(items) != len(results) or any(a is not b for a, b in zip(items, results, strict=True)):
            return None
        if not all(id(t) in self._slots or id(t) in self._held for t in tensors):
            return None
        return call, tuple(map(self.value_node, tensors))

    def read_numbers(self, values: Any) -> None:
        """Notes that an instruction reads values: a number of a tensor among them decides, and is compared.

        Args:
            values: the values, with containers.

        Raises:
            Refusal: a number can't be compared any more.
        """
        for value in values:
            kind = type(value)
            if kind is float and id(value) in self.numbers:
                number, step = self.numbers.pop(id(value))
                if not step[6]:
                    raise Refusal("the value of a tensor is read after something has been written")
                step[4], step[5] = _COMPARE, number
            elif kind is tuple or kind is list:
                self.read_numbers(value)
            elif kind is dict:
                self.read_numbers(value.values())

    def _result(self, step: Step, result: Any, restarts: bool) -> tuple[int, Any]:
        if isinstance(result, Tensor):
            if type(result) not in TENSORS:
                raise Refusal(
                    f"{step.function.__name__} returns a tensor of the class {type(result).__name__}"
                )
            self.largest = max(self.largest, result.numel())
            if step.effect is Effect.GRAD_READ and any(result is t for t in self.examples):
                raise Refusal("a gradient is read that is an argument too")
            if id(result) in self._held:  # an operator that returns its argument
                return _DROP, None
            return _KEEP, (self._slot(result), tuple(result.shape), result.dtype)
        if isinstance(result, (tuple, list)) and any(isinstance(item, Tensor) for item in result):
            return self._children(step, result)
        if step.is_known or result is None:
            if not is_plain(result):
                raise Refusal(
                    f"{step.function.__name__} returns an object of the type {type(result).__name__}"
                )
            return _DROP, None
        if not is_plain(result):
            raise Refusal(f"{step.function.__name__} returns an object of the type {type(result).__name__}")
        if not restarts:
            raise Refusal("the value of a tensor is read after something has been written")
        return _COMPARE, result

    def _children(self, step: Step, result: Any) -> tuple[int, Any]:
        children = []
        for index, item in enumerate(result):
            if isinstance(item, Tensor):
                if id(item) not in self._held:
                    children.append((index, self._slot(item)))
            elif not is_plain(item):
                raise Refusal(f"{step.function.__name__} returns an object of the type {type(item).__name__}")
            elif item is not None:
                raise Refusal(f"{step.function.__name__} returns tensors and numbers")
        self._alive.append(result)
        if isinstance(result, list):
            self.world.mark_fresh(result)
        return _UNPACK, tuple(children)

    def _note_effect(self, step: Step) -> None:
        if step.effect is Effect.BACKWARD:
            self.grads_known = False
            self.has_written = self.has_backward = True
        elif step.effect is Effect.GRAD:
            self.has_written = True
        elif step.effect is Effect.BY_VERSION:
            for t, (storage, version) in step.tensors:
                after = memory_state(t)
                if after != (storage, version) and (
                    storage in self._old_storages or after[0] in self._old_storages
                ):
                    self.has_written = True
            if not tl_core.equal(tl_core.get_rng_state(), step.generator):
                self.has_written = True

    # ---- the end
    def borrowed_objects(self) -> tuple[tuple[Any, Any], ...]:
        """The tensors that the function holds, and their gradients where the tape depends on them."""
        uses_grads = self.has_backward or any(step[0] in (getattr, setattr) for step in self.steps)
        return tuple((t, grad if uses_grads else NotImplemented) for t, grad in self._held.values())

    def check_leaves(self) -> None:
        """Raises where a backward could run code that the recording doesn't show."""
        if not self.has_backward:
            return
        if any(
            t.requires_grad and not t.is_leaf for t in (*self.examples, *(t for t, _ in self._held.values()))
        ):
            raise Refusal("a backward runs through a graph that was there before the call")
        for t in (*self.examples, *(t for t, _ in self._held.values())):
            if t._backward_hooks or t._post_accumulate_grad_hooks:
                raise Refusal("a tensor has hooks that a backward calls")
        if any(t.requires_grad for t in self.examples):
            raise Refusal("a backward writes the gradient of an argument")
        for t, _ in self._held.values():
            if t.requires_grad:
                for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
                    self.world.read_attribute(t, Tensor.__dict__[name], None)

    def description(self, result: Any) -> tuple[Any, ...]:
        """All of the call as a tape takes it.

        Args:
            result: the result of the call.
        """
        writer = ResultWriter(self)
        output = writer.describe(result)
        if any(_facts(t) != facts for t, facts in self._facts):
            raise Refusal(
                "the call changes the size, the type or the need of gradients of a tensor that was there before"
            )
        self.check_leaves()
        self._note_last_uses(output)
        return (
            len(self._slots) + writer.n_slots,
            self.world.description(self.examples),
            self.args,
            self.kwargs,
            tuple(self.examples),
            self.borrowed_objects(),
            tuple(tuple(step) for step in self.steps),
            output,
        )

    def _note_last_uses(self, output: Node) -> None:
        live = set(slots_in(output))
        for step in reversed(self.steps):
            used = {slot for node in step[1] for slot in slots_in(node)}
            if step[4] in (_KEEP, _NUMBER):
                used.add(step[5][0])
            elif step[4] == _UNPACK:
                used.update(slot for _, slot in step[5])
            step[7] = tuple(sorted(slot for slot in used - live if slot >= len(self.examples)))
            live |= used


def _facts(t: Any) -> tuple[Any, ...]:
    grad = t.requires_grad, t.is_leaf
    return (
        *t.shape,
        *t.stride(),
        t.dtype,
        t.device,
        t.layout,
        *grad,
        t.is_conj(),
        t.is_neg(),
        bool(t.__dict__),
    )
