"""The comparison of the eager mode: weights, results of layers, and layers with a float layer beside them."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import Module

from ..nn.quantized import FloatFunctional, QFunctional
from ..packed.cell import CellWeights
from ..quantization_mappings import get_default_compare_output_module_list
from ..stubs import DeQuantStub
from .loggers import Logger, OutputLogger, ShadowLogger

__all__ = [
    "Logger",
    "OutputLogger",
    "Shadow",
    "ShadowLogger",
    "compare_model_outputs",
    "compare_model_stub",
    "compare_weights",
    "get_logger_dict",
    "get_matching_activations",
    "prepare_model_outputs",
    "prepare_model_with_stubs",
]


def _stem(key: str, tail: str) -> str | None:
    """The name before a dotted ending, or None."""
    if key == tail:
        return ""
    return key.removesuffix(f".{tail}") if key.endswith(f".{tail}") else None


def _float_key(keys: Any, stem: str, tail: str) -> str | None:
    """The key of a float model for a layer: its own, or that of the first part of a fused layer."""
    for key in keys:
        own = _stem(key, tail)
        if own is not None and own in (stem, f"{stem}.0"):
            return str(key)
    return None


def compare_weights(float_dict: dict[str, Any], quantized_dict: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The weights of both models by the key of the quantized one.

    Args:
        float_dict: the state dict of the float model.
        quantized_dict: the state dict of the quantized model.

    Returns:
        For each weight a dictionary with `float` and `quantized`.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> list(compare_weights(model.state_dict(), tq.quantize_dynamic(model).state_dict()))
        ['0._packed_params._packed_params']
    """
    result: dict[str, dict[str, Any]] = {}
    for key, value in quantized_dict.items():
        for tail in ("weight", "_packed_params._packed_params", "_packed_params._packed_weight"):
            stem = _stem(key, tail)
            match = None if stem is None else _float_key(float_dict, stem, "weight")
            if match is not None:
                weight = value[0] if isinstance(value, tuple) else value
                result[key] = {"float": float_dict[match], "quantized": weight}
        if isinstance(value, CellWeights):  # of a layer of a recurrent network
            stem, _, number = key.removesuffix(".param").partition("_all_weight_values.")
            name = f"{stem}weight_hh_l{number}"
            if name in float_dict:
                result[key] = {"float": float_dict[name], "quantized": value.hh.weight()}
        if key in float_dict and key not in result and getattr(value, "is_quantized", False):
            result[key] = {"float": float_dict[key], "quantized": value}
    return result


def get_logger_dict(mod: Module, prefix: str = "") -> dict[str, dict[str, Any]]:
    """The values of all loggers, by the name of the observed module and `stats`.

    Args:
        mod: the module above.
        prefix: the beginning of the names.
    """
    start = f"{prefix}." if prefix else ""
    result: dict[str, dict[str, Any]] = {}
    for child in mod.children():
        if isinstance(child, Logger):
            result[f"{start}stats"] = child.stats
            break
    for name, child in mod.named_children():
        result |= get_logger_dict(child, f"{start}{name}")
    return result


def _dequantize(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(_dequantize, x))
    return x.dequantize() if isinstance(x, Tensor) and x.is_quantized else x


class Shadow(Module):
    """A quantized layer with the float layer beside it, which gets the same numbers.

    Args:
        q_module (Module): The quantized layer, whose result counts.
        float_module (Module): The float layer.
        logger_cls (class): The logger of both results.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Linear(2, 1)
        >>> quantized = tq.quantize_dynamic(tl_nn.Sequential(model))[0]
        >>> shadow = Shadow(quantized, model, ShadowLogger)
        >>> _ = shadow(tl_core.ones(1, 2))
        >>> len(shadow.logger.stats["float"])
        1
    """

    def __init__(self, q_module: Any, float_module: Any, logger_cls: Any) -> None:
        super().__init__()
        self.orig_module = q_module
        self.shadow_module = float_module
        self.logger = logger_cls()

    def _both(self, name: str, *args: Any) -> Any:
        result = getattr(self.orig_module, name)(*args)
        self.logger(result, getattr(self.shadow_module, name)(*_dequantize(args)))
        return result

    def forward(self, *x: Any) -> Any:
        """The result of the quantized layer."""
        return self._both("__call__", *x)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The result of the quantized `add`."""
        return self._both("add", x, y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """The result of the quantized `add_scalar`."""
        return self._both("add_scalar", x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """The result of the quantized `mul`."""
        return self._both("mul", x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """The result of the quantized `mul_scalar`."""
        return self._both("mul_scalar", x, y)

    def cat(self, x: list[Tensor], dim: int = 0) -> Tensor:
        """The result of the quantized `cat`."""
        return self._both("cat", x, dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """The result of the quantized `add_relu`."""
        return self._both("add_relu", x, y)


def prepare_model_with_stubs(
    float_module: Module, q_module: Module, module_swap_list: Any, logger_cls: Any
) -> None:
    """Replaces layers of a quantized model by `Shadow`.

    Args:
        float_module: the float model.
        q_module: the quantized model, which is changed.
        module_swap_list: the float classes whose layers are replaced.
        logger_cls: the class of the loggers.
    """
    floats = dict(float_module.named_children())
    for name, child in list(q_module.named_children()):
        if name not in floats:
            continue
        twin = floats[name]
        if type(twin) not in module_swap_list:
            prepare_model_with_stubs(twin, child, module_swap_list, logger_cls)
        elif _kinds(twin) != _kinds(child):
            q_module._modules[name] = Shadow(child, twin, logger_cls)


def _kinds(module: Module) -> list[type]:
    """The classes of a module and of its parts."""
    return [type(part) for part in module.modules()]


def compare_model_stub(
    float_model: Module, q_model: Module, module_swap_list: Any, *data: Any, logger_cls: Any = ShadowLogger
) -> dict[str, dict[str, Any]]:
    """Runs a quantized model whose layers have float layers beside them.

    Args:
        float_model: the float model.
        q_model: the quantized model, which is changed.
        module_swap_list: the float classes that are compared.
        *data: the inputs of the model.
        logger_cls: the class of the loggers.

    Returns:
        The results of both layers by name and `stats`.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> compared = compare_model_stub(model, tq.quantize_dynamic(model), [tl_nn.Linear], tl_core.ones(1, 2))
        >>> list(compared), list(compared["0.stats"])
        (['0.stats'], ['float', 'quantized'])
    """
    prepare_model_with_stubs(float_model, q_model, module_swap_list, logger_cls)
    q_model(*data)
    return get_logger_dict(q_model)


def get_matching_activations(float_module: Module, q_module: Module) -> dict[str, dict[str, Any]]:
    """The results that loggers of both models have stored, by name and `stats`.

    Args:
        float_module: the float model.
        q_module: the quantized model.
    """
    floats, result = get_logger_dict(float_module), {}
    for key, stats in get_logger_dict(q_module).items():
        if not len(stats["tensor_val"]):
            continue
        stem = _stem(key, "stats")
        match = _last_key(floats, stem or "")
        if match is not None:
            result[key] = {"float": floats[match]["tensor_val"], "quantized": stats["tensor_val"]}
    return result


def _last_key(floats: dict[str, Any], stem: str) -> str | None:
    """The key of a layer, or of the last part of a fused layer."""
    own = f"{stem}.stats" if stem else "stats"
    parts = [
        key for key in sorted(floats) if key.startswith(f"{stem}.") and key.count(".") == stem.count(".") + 2
    ]
    return own if own in floats else (parts[-1] if parts else None)


def _observe(module: Any, inputs: Any, output: Any) -> Any:
    """The hook of a module with a logger."""
    return module.activation_post_process(output)


def _add_loggers(module: Module, logger_cls: Any, kinds: set[Any]) -> None:
    for child in list(module.children()):
        if isinstance(child, (FloatFunctional, QFunctional)):
            child.activation_post_process = logger_cls()
        elif type(child) in kinds and type(child) is not DeQuantStub:  # its input is floating, too
            child.activation_post_process = logger_cls()
            child.register_forward_hook(_observe)
        elif not isinstance(child, Logger):
            _add_loggers(child, logger_cls, kinds)


def prepare_model_outputs(
    float_module: Module, q_module: Module, logger_cls: Any = OutputLogger, allow_list: Any = None
) -> None:
    """Adds loggers behind the layers of both models.

    Args:
        float_module: the float model, which is changed.
        q_module: the quantized model, which is changed.
        logger_cls: the class of the loggers.
        allow_list: the classes of the layers, by default those of the tables.
    """
    kinds = set(get_default_compare_output_module_list() if allow_list is None else allow_list)
    for module in (float_module, q_module):
        _add_loggers(module, logger_cls, kinds)


def compare_model_outputs(
    float_model: Module, q_model: Module, *data: Any, logger_cls: Any = OutputLogger, allow_list: Any = None
) -> dict[str, dict[str, Any]]:
    """Runs both models and returns the results of their layers.

    Args:
        float_model: the float model, which is changed.
        q_model: the quantized model, which is changed.
        *data: the inputs of the models.
        logger_cls: the class of the loggers.
        allow_list: the classes of the layers, by default those of the tables.

    Returns:
        For each layer a dictionary with `float` and `quantized`.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> list(compare_model_outputs(model, tq.quantize_dynamic(model), tl_core.ones(1, 2)))
        ['0.stats']
    """
    prepare_model_outputs(float_model, q_model, logger_cls, allow_list)
    float_model(*data)
    q_model(*data)
    return get_matching_activations(float_model, q_model)
