"""Parameters that tensor parallelism has cut, in `DistributedDataParallel`: it sees this rank's parts."""

from __future__ import annotations

from typing import Any

from tl_nn import Module, Parameter

from ..dtensor import DTensor

__all__: list[str] = []


def _localize(module: Module) -> dict[tuple[Module, str], Any]:
    """Replaces the parameters of a module by this rank's parts; returns the layouts."""
    layouts = {}
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if isinstance(parameter, DTensor):
                layouts[part, name] = parameter._spec
                part._parameters[name] = Parameter(parameter.to_local().detach(), parameter.requires_grad)
    return layouts


def _pre_dp_module_transform(module: Module) -> None:
    """Has a module hold this rank's parts of its parameters between computations, and distributed ones during them.

    Args:
        module: the module, before `DistributedDataParallel` wraps it.
    """
    layouts = _localize(module)
    locals_: dict[tuple[Module, str], Any] = {}

    def enter(_: Module, inputs: Any) -> None:
        for (part, name), spec in layouts.items():
            own: Any = part._parameters.pop(name)
            locals_[part, name] = own
            setattr(
                part,
                name,
                DTensor.from_local(
                    own, spec.mesh, spec.placements, shape=spec.shape, stride=spec.tensor_meta.stride
                ),
            )

    def leave(_: Module, inputs: Any, output: Any) -> None:
        for (part, name), own in locals_.items():
            part.__dict__.pop(name, None)
            part._parameters[name] = own
        locals_.clear()

    module.register_forward_pre_hook(enter)
    module.register_forward_hook(leave, always_call=True)
