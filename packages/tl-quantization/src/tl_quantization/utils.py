"""Facts of configurations and ranges, under the names of PyTorch."""

from __future__ import annotations

import inspect
from typing import Any

import tl_core
from tl_core import Tensor

from .backend_config.wildcard import MatchAllNode
from .dtypes import (
    bounds,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
    storage_dtype,
)
from .quant_type import QuantType

__all__ = [
    "MatchAllNode",
    "NodePattern",
    "Pattern",
    "QuantizerCls",
    "activation_dtype",
    "activation_is_dynamically_quantized",
    "activation_is_int8_quantized",
    "activation_is_statically_quantized",
    "calculate_qmin_qmax",
    "check_min_max_valid",
    "get_combined_dict",
    "get_fqn_to_example_inputs",
    "get_qconfig_dtypes",
    "get_qparam_dict",
    "get_quant_type",
    "get_swapped_custom_module_class",
    "getattr_from_fqn",
    "is_per_channel",
    "is_per_tensor",
    "to_underlying_dtype",
    "validate_qmin_qmax",
    "weight_dtype",
    "weight_is_quantized",
    "weight_is_statically_quantized",
]

# Types of annotations. Pairs nest to any depth, so that checkers take any value.
NodePattern = Any  # a node, or a pair of a node and a pattern of nodes
Pattern = Any  # a function, a class of modules or a name of a method, or a pair of one and a pattern
QuantizerCls = Any  # the object that quantizes a graph

_INTEGERS = (quint8, qint8, tl_core.qint32, tl_core.uint8, tl_core.int8, tl_core.int16, tl_core.int32)

_BYTES = (quint8, qint8, tl_core.uint8, tl_core.int8)


def get_qparam_dict(observer: Any) -> dict[str, Any]:
    """How an observer quantizes, as reference layers take it.

    Args:
        observer: an observer or a fake quantizer.
    """
    scheme = getattr(observer, "qscheme", None)
    if getattr(observer, "dtype", None) is tl_core.float16:
        scheme = None
    qparams: dict[str, Any] = {"qscheme": scheme, "dtype": observer.dtype}
    if scheme is None:
        return qparams
    for name in ("quant_min", "quant_max"):
        qparams[name] = getattr(observer, name, None)
    qparams["scale"], qparams["zero_point"] = observer.calculate_qparams()
    if scheme.name.startswith("per_channel"):
        qparams["axis"] = observer.ch_axis
    return qparams


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a scheme has one scale.

    Args:
        qscheme: the scheme.
    """
    return qscheme in (per_tensor_affine, per_tensor_symmetric)


def is_per_channel(qscheme: Any) -> bool:
    """Whether a scheme has a scale for each channel.

    Args:
        qscheme: the scheme.
    """
    return qscheme in (per_channel_affine, per_channel_affine_float_qparams, per_channel_symmetric)


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """Both dictionaries as one; the second decides.

    Args:
        default_dict: the first dictionary.
        additional_dict: the second dictionary.
    """
    return {**default_dict, **additional_dict}


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """The attribute of a dotted name.

    Args:
        obj: the object.
        fqn: the name.

    Example:
        >>> import tl_nn
        >>> getattr_from_fqn(tl_nn.Sequential(tl_nn.Linear(1, 2)), "0.out_features")
        2
    """
    for part in fqn.split("."):
        obj = getattr(obj, part)
    return obj


def to_underlying_dtype(qdtype: Any) -> Any:
    """The type of the integers of a quantized type.

    Args:
        qdtype: the quantized type.

    Example:
        >>> import tl_quantization as tq
        >>> to_underlying_dtype(tq.quint8)
        torch.uint8
    """
    return storage_dtype(qdtype)


def _activation(qconfig: Any) -> Any:
    if qconfig is None:
        raise AssertionError("qconfig must be a QConfig, but got None")
    return qconfig.activation()


def activation_dtype(qconfig: Any) -> Any:
    """The type of the activations.

    Args:
        qconfig: the configuration.
    """
    return _activation(qconfig).dtype


def weight_dtype(qconfig: Any) -> Any:
    """The type of the weight.

    Args:
        qconfig: the configuration.
    """
    return qconfig.weight().dtype


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether activations have scales from calibration.

    Args:
        qconfig: the configuration.
    """
    observer = _activation(qconfig)
    return observer.dtype in _INTEGERS and not getattr(observer, "is_dynamic", False)


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized at each call.

    Args:
        qconfig: the configuration.
    """
    return bool(getattr(_activation(qconfig), "is_dynamic", False))


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether weights become integers or halves.

    Args:
        qconfig: the configuration.
    """
    return weight_dtype(qconfig) in (*_INTEGERS, tl_core.float16, tl_core.quint4x2)


def get_qconfig_dtypes(qconfig: Any) -> tuple[Any, Any, bool]:
    """The types of activations and weight, and whether activations are quantized at each call.

    Args:
        qconfig: the configuration.

    Example:
        >>> import tl_quantization as tq
        >>> get_qconfig_dtypes(tq.default_qconfig)
        (torch.quint8, torch.qint8, False)
    """
    observer = _activation(qconfig)
    return observer.dtype, weight_dtype(qconfig), bool(getattr(observer, "is_dynamic", False))


def get_quant_type(qconfig: Any) -> QuantType:
    """The kind of quantization of a configuration.

    Args:
        qconfig: the configuration.

    Raises:
        Exception: If the types belong to no kind.
    """
    kind, weight, is_dynamic = get_qconfig_dtypes(qconfig)
    if weight in (*_INTEGERS, tl_core.quint4x2):
        if is_dynamic:
            return QuantType.DYNAMIC
        return QuantType.STATIC if kind in _INTEGERS else QuantType.WEIGHT_ONLY
    if weight is tl_core.float16:
        if is_dynamic:
            return QuantType.DYNAMIC
        return QuantType.STATIC if kind is tl_core.float16 else QuantType.WEIGHT_ONLY
    raise Exception(f"Unrecognized dtype combination in get_quant_type: activation({kind}),weight({weight})")


def activation_is_int8_quantized(qconfig: Any) -> bool:
    """Whether activations are of 8 bits.

    Args:
        qconfig: the configuration.
    """
    return activation_dtype(qconfig) in _BYTES


def weight_is_statically_quantized(qconfig: Any) -> bool:
    """Whether the weight is of 8 bits.

    Args:
        qconfig: the configuration.
    """
    return weight_dtype(qconfig) in _BYTES


def get_swapped_custom_module_class(
    custom_module: Any, custom_module_class_mapping: dict[QuantType, dict[type, type]], qconfig: Any
) -> Any:
    """The class that replaces a class of the program.

    Args:
        custom_module: the module.
        custom_module_class_mapping: the tables of classes by kind of quantization.
        qconfig: the configuration, which has the kind.

    Raises:
        AssertionError: the table has no entry for the class.
    """
    table = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    kind = type(custom_module)
    if kind not in table:
        raise AssertionError(
            f"did not find corresponding observed module class for {kind} in mapping: {table}"
        )
    return table[kind]


def get_fqn_to_example_inputs(model: Any, example_inputs: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
    """The arguments that each part of a model is called with.

    Arguments by name and defaults follow the positional ones, in the order of the signature.

    Args:
        model: the model.
        example_inputs: its arguments.

    Example:
        >>> import tl_core, tl_nn
        >>> inputs = get_fqn_to_example_inputs(tl_nn.Sequential(tl_nn.Linear(2, 3)), (tl_core.ones(1, 2),))
        >>> inputs["0"][0].shape
        torch.Size([1, 2])
    """
    inputs: dict[str, tuple[Any, ...]] = {}

    def watch(name: str) -> Any:
        def hook(module: Any, args: Any, kwargs: Any) -> None:
            rest = list(inspect.signature(module.forward).parameters.values())[len(args) :]
            values = [kwargs.get(p.name, p.default) for p in rest]
            inputs[name] = (*args, *(value for value in values if value is not inspect.Parameter.empty))

        return hook

    handles = [
        part.register_forward_pre_hook(watch(name), with_kwargs=True) for name, part in model.named_modules()
    ]
    try:
        model(*example_inputs)
    finally:
        for handle in handles:
            handle.remove()
    return inputs


def check_min_max_valid(min_val: Tensor, max_val: Tensor) -> bool:
    """Whether an observed range has numbers in order.

    Args:
        min_val: the smallest numbers.
        max_val: the largest numbers.

    Raises:
        AssertionError: If a smallest number is larger than the largest.

    Example:
        >>> import tl_core
        >>> check_min_max_valid(tl_core.tensor(0.0), tl_core.tensor(1.0))
        True
    """
    if not (min_val.numel() and max_val.numel()):
        return False
    if min_val.dim() == 0 and float(min_val) == float("inf") and float(max_val) == float("-inf"):
        return False
    if bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """Checks a range of integers.

    Args:
        quant_min: the smallest integer.
        quant_max: the largest integer.

    Raises:
        AssertionError: If the range lacks 0, or its ends aren't in order.
    """
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if not quant_min < quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(
    quant_min: int | None, quant_max: int | None, has_customized_qrange: bool, dtype: Any, reduce_range: bool
) -> tuple[int, int]:
    """The range of the integers of an observer.

    Args:
        quant_min: the smallest integer of a range of one's own.
        quant_max: the largest integer of a range of one's own.
        has_customized_qrange: whether the range is one's own.
        dtype: the type.
        reduce_range: whether one bit is left unused.

    Example:
        >>> import tl_quantization as tq
        >>> calculate_qmin_qmax(None, None, False, tq.quint8, True)
        (0, 127)
    """
    if has_customized_qrange and quant_min is not None and quant_max is not None:
        validate_qmin_qmax(quant_min, quant_max)
        low, high = quant_min, quant_max
    else:
        low, high = bounds(dtype)
        reduce_range = reduce_range and high - low == 255
    return (low // 2, high // 2) if reduce_range else (low, high)
