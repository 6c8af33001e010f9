"""Styles of tensor parallelism: how the parameters, inputs and outputs of a module are cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tl_core import Tensor
from tl_nn import Embedding, Linear, Module, Parameter

from ...groups.device_mesh import DeviceMesh
from ..api import distribute_module, distribute_tensor
from ..dtensor import DTensor
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]

Layouts = Placement | Sequence[Placement | None] | None


class ParallelStyle(ABC):
    """How a module is cut; a class of a program's own overrides `_apply`.

    Example:
        >>> issubclass(ColwiseParallel, ParallelStyle)
        True
    """

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Cuts a module, and returns it.

        Args:
            module: the module.
            device_mesh: a mesh of one dimension.
        """


def _move(value: DTensor, layouts: Sequence[Placement]) -> DTensor:
    return value if value.placements == tuple(layouts) else value.redistribute(placements=layouts)


class _LayerStyle(ParallelStyle):
    """A style of one input and one output."""

    input_layouts: tuple[Placement, ...]
    desired_input_layouts: tuple[Placement, ...]
    output_layouts: tuple[Placement, ...]
    use_local_output: bool

    def _input(self, module: Module, inputs: Any, mesh: DeviceMesh) -> Any:
        first, *rest = inputs
        if not isinstance(first, DTensor):
            first = DTensor.from_local(first, mesh, self.input_layouts, run_check=False)
        return (_move(first, self.desired_input_layouts), *rest)

    def _output(self, module: Module, output: Any, mesh: DeviceMesh) -> Any:
        output = _move(output, self.output_layouts)
        return output.to_local() if self.use_local_output else output

    def _cut(self, module: Module, name: str, mesh: DeviceMesh, placement: Placement) -> None:
        parameter = module._parameters[name]
        if parameter is not None:
            cut = distribute_tensor(parameter.detach(), mesh, [placement], src_data_rank=self.src_data_rank)
            module._parameters[name] = Parameter(cut, requires_grad=parameter.requires_grad)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output})"
        )


class ColwiseParallel(_LayerStyle):
    """The outputs of a linear layer or an embedding are divided among the ranks.

    Args:
        input_layouts: the layout of an input that is a plain tensor; replicas by default.
        output_layouts: the layout of the output; pieces of the last dimension by default.
        use_local_output: whether the output is a plain tensor, this rank's part.

    Example:
        >>> ColwiseParallel().output_layouts
        (Shard(dim=-1),)
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ):
        super().__init__()
        self.input_layouts = (input_layouts or Replicate(),)
        self.output_layouts = (output_layouts or Shard(-1),)
        self.desired_input_layouts = (Replicate(),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if isinstance(module, Linear):
            names = {"weight": Shard(0), "bias": Shard(0)}
        elif isinstance(module, Embedding):
            names = {"weight": Shard(1)}
        else:
            raise NotImplementedError(
                f"ColwiseParallel currently only support nn.Linear and nn.Embedding, got {type(module).__name__}"
            )
        for name, placement in names.items():
            self._cut(module, name, device_mesh, placement)
        return distribute_module(module, device_mesh, None, self._input, self._output)


class RowwiseParallel(_LayerStyle):
    """The inputs of a linear layer, or the entries of an embedding, are divided among the ranks.

    Args:
        input_layouts: the layout of an input that is a plain tensor; pieces of the last dimension by default.
        output_layouts: the layout of the output; replicas by default.
        use_local_output: whether the output is a plain tensor, this rank's part.

    Example:
        >>> RowwiseParallel().input_layouts
        (Shard(dim=-1),)
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ):
        super().__init__()
        self.input_layouts = (input_layouts or Shard(-1),)
        self.output_layouts = (output_layouts or Replicate(),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if isinstance(module, Linear):
            names = {"weight": Shard(1), "bias": Replicate()}
            self.desired_input_layouts = (Shard(-1),)
        elif isinstance(module, Embedding):
            names = {"weight": Shard(0)}
            self.desired_input_layouts = (Replicate(),)
        else:
            raise NotImplementedError(
                f"RowwiseParallel currently only support nn.Linear and nn.Embedding, got {type(module).__name__}"
            )
        for name, placement in names.items():
            self._cut(module, name, device_mesh, placement)
        return distribute_module(module, device_mesh, None, self._input, self._output)


class SequenceParallel(_LayerStyle):
    """A norm or dropout computes on a piece of the sequence; its parameters are replicas.

    Args:
        sequence_dim: the dimension of the sequence.
        use_local_output: whether the output is a plain tensor, this rank's part.

    Example:
        >>> SequenceParallel().input_layouts
        (Shard(dim=1),)
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False):
        super().__init__()
        self.sequence_dim = sequence_dim
        self.input_layouts = self.desired_input_layouts = self.output_layouts = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _replicate(self, name: str, module: Module, mesh: DeviceMesh) -> None:
        for key, parameter in module._parameters.items():
            if parameter is not None and not isinstance(parameter, DTensor):
                replica = DTensor.from_local(parameter.detach(), mesh, [Replicate()], run_check=False)
                module._parameters[key] = Parameter(replica, requires_grad=parameter.requires_grad)

    def _input(self, module: Module, inputs: Any, mesh: DeviceMesh) -> Any:
        if not isinstance(inputs[0], Tensor):
            raise ValueError(
                f"expecting input of {module} to be a torch.Tensor or DTensor, but got {inputs[0]}"
            )
        return super()._input(module, inputs, mesh)

    def _output(self, module: Module, output: Any, mesh: DeviceMesh) -> Any:
        return output.to_local() if self.use_local_output else output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        return distribute_module(module, device_mesh, self._replicate, self._input, self._output)


def _several(layouts: Layouts) -> tuple[Placement | None, ...] | None:
    return layouts if layouts is None else (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


class PrepareModuleInput(ParallelStyle):
    """Inputs of a module become distributed tensors, in a layout of the program's choice.

    Args:
        input_layouts: the layouts of inputs that are plain tensors; None for one that is left.
        desired_input_layouts: the layouts that the module gets.
        input_kwarg_layouts: the layouts of inputs by name.
        desired_input_kwarg_layouts: the layouts of inputs by name that the module gets.
        use_local_output: whether the module gets plain tensors, this rank's part.

    Raises:
        AssertionError: there is not one desired layout for each layout.

    Example:
        >>> PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate()).desired_input_layouts
        (Replicate(),)
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ):
        self.input_layouts = _several(input_layouts)
        self.desired_input_layouts = _several(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            assert self.desired_input_layouts is not None, "desired module inputs should not be None!"
            assert len(self.input_layouts) == len(self.desired_input_layouts), (
                "input_layouts and desired_input_layouts should have same length!"
            )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        assert not self.with_kwargs or len(self.input_kwarg_layouts) == len(
            self.desired_input_kwarg_layouts
        ), "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"

    def _prepare(
        self, value: Any, mesh: DeviceMesh, layout: Placement | None, desired: Placement | None
    ) -> Any:
        if layout is None:
            return value
        if not isinstance(value, DTensor):
            assert isinstance(value, Tensor), "expecting input to be a torch.Tensor!"
            value = DTensor.from_local(value, mesh, (layout,), run_check=False)
        if desired is not None:
            value = _move(value, (desired,))
        return value.to_local() if self.use_local_output else value

    def _prepare_inputs(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        several = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(several) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        assert self.desired_input_layouts is not None
        triples = zip(several, self.input_layouts, self.desired_input_layouts, strict=True)
        return tuple(self._prepare(value, mesh, layout, desired) for value, layout, desired in triples)

    def _prepare_all(self, inputs: Any, kwargs: dict[str, Any], mesh: DeviceMesh) -> Any:
        prepared = {
            name: self._prepare(
                value, mesh, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name)
            )
            for name, value in kwargs.items()
        }
        return self._prepare_inputs(inputs, mesh), prepared

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if self.with_kwargs:
            module.register_forward_pre_hook(
                lambda _, inputs, kwargs: self._prepare_all(inputs, kwargs, device_mesh), with_kwargs=True
            )
        else:
            module.register_forward_pre_hook(lambda _, inputs: self._prepare_inputs(inputs, device_mesh))
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs of a module become distributed tensors, in a layout of the program's choice.

    Args:
        output_layouts: the layouts of outputs that are plain tensors; None for one that is left.
        desired_output_layouts: the layouts that the caller gets.
        use_local_output: whether the caller gets plain tensors, this rank's part.

    Raises:
        AssertionError: there is not one desired layout for each layout.

    Example:
        >>> PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate()).output_layouts
        (Shard(dim=0),)
    """

    def __init__(
        self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True
    ):
        self.output_layouts = _several(output_layouts) or ()
        self.desired_output_layouts = _several(desired_output_layouts) or ()
        self.use_local_output = use_local_output
        assert len(self.output_layouts) == len(self.desired_output_layouts), (
            "output_layouts and desired_output_layouts should have same length!"
        )

    def _prepare(self, outputs: Any, mesh: DeviceMesh) -> Any:
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(several) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        prepared = []
        for value, layout, desired in zip(
            several, self.output_layouts, self.desired_output_layouts, strict=True
        ):
            if layout is not None:
                if not isinstance(value, DTensor):
                    value = DTensor.from_local(value, mesh, (layout,), run_check=False)
                if desired is not None:
                    value = _move(value, (desired,))
                value = value.to_local() if self.use_local_output else value
            prepared.append(value)
        return prepared[0] if len(prepared) == 1 else tuple(prepared)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda _, inputs, outputs: self._prepare(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Inputs and outputs of a module become distributed tensors: `PrepareModuleInput` and `PrepareModuleOutput`.

    Args:
        input_layouts: the layouts of inputs that are plain tensors.
        desired_input_layouts: the layouts that the module gets.
        input_kwarg_layouts: the layouts of inputs by name.
        desired_input_kwarg_layouts: the layouts of inputs by name that the module gets.
        use_local_input: whether the module gets plain tensors.
        output_layouts: the layouts of outputs that are plain tensors.
        desired_output_layouts: the layouts that the caller gets.
        use_local_output: whether the caller gets plain tensors.

    Example:
        >>> style = PrepareModuleInputOutput(
        ...     input_layouts=Shard(0),
        ...     desired_input_layouts=Replicate(),
        ...     output_layouts=Replicate(),
        ...     desired_output_layouts=Shard(0),
        ... )
        >>> style.prepare_module_output.desired_output_layouts
        (Shard(dim=0),)
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
