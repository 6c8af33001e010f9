"""The parameters, buffers and attributes of a module while it is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tl_core
import tl_core.operators.packets
import tl_nn
from tl_core.subclasses import FakeTensor

from .graph_signature import InputKind

__all__ = ["ModuleState"]

Tensor = tl_core.Tensor
# From the kind of a tensor, its name, the tensor, and whether a state dict has it, to the fake of the tensor.
CreateInput = Callable[[InputKind, str, Any, bool], Any]


class ModuleState:
    """Puts fakes in the place of a module's parameters and buffers during the trace.

    Args:
        mod: the module.
    """

    def __init__(self, mod: Any) -> None:
        self.mod = mod
        self.tensors: dict[str, Any] = {}  # parameters and persistent buffers by name
        self.constants: dict[str, Any] = {}  # buffers that a state dict lacks, by name
        self._swaps: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._attributes: dict[tuple[int, str], Any] = {}

    @contextmanager
    def fakes(self, create_input: CreateInput) -> Iterator[None]:
        """A region in which a fake is in the place of each parameter and buffer.

        Args:
            create_input: creates the input of a tensor and returns its fake.

        Raises:
            ValueError: the program assigned a traced tensor to an attribute, which a run of the graph would not.
        """
        self._attributes = _attributes(self.mod)
        try:
            self._put_fakes(create_input)
            yield
        finally:
            self._restore()
            self._refuse_assigned()

    def _put_fakes(self, create_input: CreateInput) -> None:
        """Puts the fakes into the tables of the module. Names of the same tensor share its input."""
        fakes: dict[int, Any] = {}
        for kind, named in (
            (InputKind.PARAMETER, self.mod.named_parameters(remove_duplicate=False)),
            (InputKind.BUFFER, self.mod.named_buffers(remove_duplicate=False)),
        ):
            for name, value in list(named):
                module, _, last = name.rpartition(".")
                owner = self.mod.get_submodule(module)
                table = owner._parameters if kind is InputKind.PARAMETER else owner._buffers
                persistent = kind is InputKind.PARAMETER or last not in owner._non_persistent_buffers_set
                fake = fakes.get(id(value))
                if fake is None:
                    fake = fakes[id(value)] = create_input(kind, name, value, persistent)
                table[last] = fake
                self._swaps.append((table, last, value, fake))
                (self.tensors if persistent else self.constants)[name] = value

    def _restore(self) -> None:
        for table, name, value, _ in self._swaps:
            table[name] = value
        self._swaps = []

    def copy_assigned(self) -> None:
        """Copies the new value of each buffer that the program assigned to the buffer, so that the graph writes it."""
        for table, name, value, fake in self._swaps:
            current = table.get(name)
            if current is fake or current is None or not isinstance(current, Tensor):
                continue
            if isinstance(value, tl_nn.Parameter):
                raise AssertionError(
                    f"The parameter {name} was assigned during export, which is not supported"
                )
            tl_core.operators.packets.aten.copy_.default(fake, current)

    def _refuse_assigned(self) -> None:
        """Removes traced tensors from the attributes of the module, and raises if there were any."""
        names = []
        for path, module in self.mod.named_modules():
            for name, value in list(module.__dict__.items()):
                if isinstance(value, FakeTensor) and self._attributes.get((id(module), name)) is not value:
                    names.append(f"self.{path + '.' if path else ''}{name}")
                    if (id(module), name) in self._attributes:
                        module.__dict__[name] = self._attributes[id(module), name]
                    else:
                        del module.__dict__[name]
        if names:
            raise ValueError(
                f"The tensor attribute{'s' if len(names) > 1 else ''} {', '.join(names)} "
                f"{'were' if len(names) > 1 else 'was'} assigned during export. Such attributes must be "
                "registered as buffers using the `register_buffer` API (https://pytorch.org/docs/stable/generated/"
                "torch.nn.Module.html#torch.nn.Module.register_buffer)."
            )

    def names_of(self, t: Any) -> list[str]:
        """The dotted names of the attributes whose value is a tensor.

        Args:
            t: the tensor.
        """
        return [
            f"{path}.{name}" if path else name
            for path, module in self.mod.named_modules()
            for name, value in module.__dict__.items()
            if value is t
        ]


def _attributes(mod: Any) -> dict[tuple[int, str], Any]:
    """The public attributes of a module and its submodules."""
    return {
        (id(module), name): value
        for module in mod.modules()
        for name, value in module.__dict__.items()
        if not name.startswith("_")
    }
