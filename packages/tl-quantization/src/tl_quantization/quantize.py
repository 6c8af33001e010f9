"""From a float model to a quantized one: observers put in, numbers watched, layers exchanged.

Eager mode: `QuantStub` and `DeQuantStub` in the model mark the conversions to integers and back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import tl_core
from tl_nn import Module, Sequential
from tl_nn.utils.parametrize import type_before_parametrizations

from .dtypes import qint8, quint8
from .fake_quantize import FakeQuantizeBase
from .nn.intrinsic.modules.fused import _FusedModule
from .nn.quantized.modules.functional_modules import FloatFunctional
from .observer_base import ObserverBase
from .qconfig import (
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
)
from .quantization_mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    FLOAT_TO_OBSERVED,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    get_default_static_quant_reference_module_mappings,
    no_observer_set,
)
from .stubs import DeQuantStub, QuantWrapper
from .utils import get_qparam_dict

__all__ = [
    "add_quant_dequant",
    "convert",
    "default_eval_fn",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]


def default_eval_fn(model: Module, calib_data: Any) -> None:
    """Runs a model on pairs of data and target.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> tq.default_eval_fn(model, [(tl_core.ones(1, 2), None)])
    """
    for data, _ in calib_data:
        model(data)


# ---- configurations --------------------------------------------------------------------------------------------------


def propagate_qconfig_(
    module: Module, qconfig_dict: dict[Any, Any] | None = None, prepare_custom_config_dict: Any = None
) -> None:
    """Assigns each module a `qconfig`: its own, its name's or class's in a dictionary, or its parent's.

    Args:
        module (Module): With a `qconfig`, for all of it, or without.
        qconfig_dict (dict, optional): Configurations by name or by class. "" is the name of the module itself.
        prepare_custom_config_dict (dict, optional): `non_traceable_module_name` and `non_traceable_module_class`:
            modules that are left out.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> tq.propagate_qconfig_(model)
        >>> model[0].qconfig is model.qconfig
        True
    """
    config = prepare_custom_config_dict or {}
    skipped = config.get("non_traceable_module_name", []), tuple(config.get("non_traceable_module_class", []))
    _propagate(module, qconfig_dict or {}, None, "", skipped)


def _propagate(module: Any, table: dict[Any, Any], above: Any, name: str, skipped: Any) -> None:
    own = table.get(name, table.get(type_before_parametrizations(module), getattr(module, "qconfig", above)))
    _assert_valid_qconfig(own, module)
    module.qconfig = own
    for child_name, child in module.named_children():
        full = f"{name}.{child_name}" if name else child_name
        if full not in skipped[0] and not isinstance(child, skipped[1]) and not _watches(child):
            _propagate(child, table, own, full, skipped)


def _watches(module: Any) -> bool:
    return isinstance(module, (ObserverBase, FakeQuantizeBase))


# ---- observers -------------------------------------------------------------------------------------------------------


def _observer_forward_hook(module: Any, inputs: Any, output: Any) -> Any:
    """The hook of an observed module."""
    return module.activation_post_process(output)


def _observer_for(module: Any) -> Any:
    """The observer of a module's result, with a fixed range for functions of a known range."""
    activation = module.qconfig.activation
    make_fixed = DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(type_before_parametrizations(module))
    observer = activation()
    if make_fixed is None or getattr(observer, "dtype", None) is not quint8:
        return observer
    fixed = make_fixed()
    return fixed if isinstance(observer, FakeQuantizeBase) else fixed.activation_post_process


def _add_observer(module: Any) -> None:
    if hasattr(module, "activation_post_process") and not isinstance(module, FloatFunctional):
        return
    module.activation_post_process = _observer_for(module)
    if not isinstance(module, FloatFunctional):
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _parts(module: Any) -> list[Any]:
    """The modules below, without parametrizations."""
    return [child for name, child in module.named_children() if name != "parametrizations"]


def _add_observers(module: Any, observed: set[Any], opaque: set[Any]) -> None:
    """Adds observers to the layers below, one to a fused layer or a layer in `opaque`."""
    for child in module.children():
        kind = type_before_parametrizations(child)
        if _watches(child) or isinstance(child, DeQuantStub):  # the output of a stub is floating
            continue
        configured = getattr(child, "qconfig", None) is not None
        if isinstance(child, (FloatFunctional, _FusedModule)) or kind in opaque:
            if configured:
                _add_observer(child)
        elif configured and _is_observed(child, observed) and not _parts(child):
            _add_observer(child)
        else:
            _add_observers(child, observed, opaque)


def _is_observed(module: Any, observed: set[Any]) -> bool:
    """Whether the result of a layer is observed; that of a function with a known range is so in training alone."""
    kind = type_before_parametrizations(module)
    is_fixed = module.training and kind in DEFAULT_MODULE_TO_ACT_POST_PROCESS
    return (kind in observed or is_fixed) and kind not in no_observer_set()


def _with_observable_parts(module: Any, table: dict[Any, Any]) -> None:
    """Exchanges layers, such as LSTM, for ones that are made of layers which can be observed."""
    for name, child in module.named_children():
        observable_class = table.get(type_before_parametrizations(child))
        if observable_class is not None and getattr(child, "qconfig", None) is not None:
            module._modules[name] = observable = observable_class.from_float(child)
            propagate_qconfig_(observable)
        else:
            _with_observable_parts(child, table)


def prepare(
    model: Module,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """Adds observers to a model. Run it on data, then call `convert`.

    Args:
        model (Module): With a `qconfig`, or with parts that have one.
        inplace (bool): Whether the model itself is changed.
        allow_list (set of class, optional): The layers that are observed, by default the layers of the tables.
        observer_non_leaf_module_list (list of class, optional): Layers with parts that are observed as one.
        prepare_custom_config_dict (dict, optional): `float_to_observed_custom_module_class`: classes with
            `from_float`, by the float class they replace.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> model = nn.Sequential(tq.QuantStub(), nn.Linear(4, 2), tq.DeQuantStub()).eval()
        >>> model.qconfig = tq.get_default_qconfig("fbgemm")
        >>> prepared = tq.prepare(model)
        >>> _ = prepared(tl_core.rand(16, 4))
        >>> quantized = tq.convert(prepared)
        >>> type(quantized[1]).__name__, quantized(tl_core.rand(3, 4)).shape
        ('Linear', torch.Size([3, 2]))
    """
    model = model if inplace else deepcopy(model)
    config = prepare_custom_config_dict or {}
    propagate_qconfig_(model)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through "
            "`qconfig_dict` or by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    _with_observable_parts(model, FLOAT_TO_OBSERVED | config.get("float_to_observed_custom_module_class", {}))
    custom = set(config.get("float_to_observed_custom_module_class", {}).values()) - no_observer_set()
    observed = set(allow_list or get_default_qconfig_propagation_list())
    _add_observers(model, observed, set(observer_non_leaf_module_list or ()) | custom)
    kind = type_before_parametrizations(model)
    alone = not _parts(model) and not isinstance(model, Sequential) and kind in observed
    if alone and getattr(model, "qconfig", None) is not None:
        _add_observer(model)
    return model


# ---- layers ----------------------------------------------------------------------------------------------------------


def swap_module(
    mod: Any,
    mapping: dict[Any, Any],
    custom_module_class_mapping: Any,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """Replaces a module that has a configuration and whose class is in a table. Other modules are returned unchanged.

    Args:
        mod (Module): With a `qconfig`.
        mapping (dict): Classes with `from_float`.
        custom_module_class_mapping (dict): Classes with `from_observed`.
        use_precomputed_fake_quant (bool): Whether weights keep the scales that training has seen, instead of
            being watched once more.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> type(tq.swap_module(tl_nn.ReLU(), {}, {})).__name__
        'ReLU'
    """
    if getattr(mod, "qconfig", None) is None:
        return mod
    origin = type_before_parametrizations(mod)
    custom, kind = custom_module_class_mapping.get(origin), mapping.get(origin)
    if custom is None and kind is None:
        return mod
    layer = (
        custom.from_observed(mod)
        if custom is not None
        else _quantize_module(kind, mod, use_precomputed_fake_quant)
    )
    for hook in mod._forward_pre_hooks.values():
        layer.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            layer.register_forward_hook(hook)
    return layer


def _weight_qparams(kind: Any, mod: Any) -> dict[str, Any]:
    """How a reference layer rounds its weight, or each of its weights."""

    def watched(weight: Any) -> dict[str, Any]:
        observer = mod.qconfig.weight()
        observer(weight.detach())
        return get_qparam_dict(observer)

    names = [name for name, _ in mod.named_parameters() if name.startswith("weight_")]
    return {name: watched(getattr(mod, name)) for name in names} if names else watched(mod.weight)


def _quantize_module(kind: Any, mod: Any, precomputed: bool) -> Any:
    """Constructs the layer, by `from_observed` for a class that takes a module with replaced parts."""
    if hasattr(kind, "from_observed"):
        return kind.from_observed(mod)
    if getattr(kind, "_IS_REFERENCE", False):
        return kind.from_float(mod, _weight_qparams(kind, mod))
    return kind.from_float(mod, use_precomputed_fake_quant=precomputed)


def _convert(module: Any, mapping: dict[Any, Any], custom: dict[Any, Any], precomputed: bool) -> None:
    for name, child in list(module.named_children()):
        is_opaque = isinstance(child, _FusedModule) or type_before_parametrizations(child) in custom
        if not is_opaque and not _watches(child):
            _convert(child, mapping, custom, precomputed)
        module._modules[name] = swap_module(child, mapping, custom, precomputed)


def _without_observers(module: Any) -> None:
    """Takes away configurations and observers, of layers too that weren't exchanged."""
    for child in module.children():
        if not _watches(child):
            _without_observers(child)
    vars(module).pop("qconfig", None)
    if _watches(module._modules.get("activation_post_process")):
        del module.activation_post_process
        for key in [k for k, hook in module._forward_hooks.items() if hook is _observer_forward_hook]:
            del module._forward_hooks[key]


def convert(
    module: Module,
    mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: dict[str, Any] | None = None,
    use_precomputed_fake_quant: bool = False,
) -> Module:
    """The quantized model for one that has been observed, or trained with rounding.

    Args:
        module (Module): From `prepare` or `prepare_qat`, in evaluation.
        mapping (dict, optional): Classes with `from_float`, by the class they replace.
        inplace (bool): Whether the module itself is changed.
        remove_qconfig (bool): Whether configurations and observers are taken away.
        is_reference (bool): Whether layers become those of `nn.quantized.reference`, which keep a float weight and
            round it.
        convert_custom_config_dict (dict, optional): `observed_to_quantized_custom_module_class`: classes with
            `from_observed`.
        use_precomputed_fake_quant (bool): Handed on to `from_float`.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> prepared = tq.prepare(tq.QuantWrapper(model), inplace=False)
        >>> _ = prepared(tl_core.ones(4, 2))
        >>> type(tq.convert(prepared).module[0]).__name__
        'Linear'
    """
    module = module if inplace else deepcopy(module)
    custom = (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class", {})
    defaults = (
        get_default_static_quant_reference_module_mappings
        if is_reference
        else get_default_static_quant_module_mappings
    )
    table = defaults() if mapping is None else mapping
    _convert(module, table, custom, use_precomputed_fake_quant)
    if remove_qconfig:
        _without_observers(module)
    return module


# ---- all at once -----------------------------------------------------------------------------------------------------


def add_quant_dequant(module: Module) -> Module:
    """Puts the parts that have a `qconfig` between a `QuantStub` and a `DeQuantStub`.

    Returns the module, or, if it has no parts and a configuration, its wrapper.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> _ = tq.propagate_qconfig_(model)
        >>> type(tq.add_quant_dequant(model)[0]).__name__
        'QuantWrapper'
    """
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def quantize(
    model: Module,
    run_fn: Callable[..., Any],
    run_args: Any,
    mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """Prepares a model, shows it data, and converts it.

    Args:
        model (Module): With a `qconfig`, or with parts that have one.
        run_fn (callable): Called with the prepared model and `run_args`.
        run_args (tuple): For `run_fn`.
        mapping, inplace: As of `convert`.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> quantized = tq.quantize(tq.QuantWrapper(model), lambda m: m(tl_core.ones(4, 2)), ())
        >>> type(quantized.module[0]).__name__
        'Linear'
    """
    table = get_default_static_quant_module_mappings() if mapping is None else mapping
    model = model if inplace else deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, table, inplace=True)
    return model


def _dynamic_spec(dtype: Any) -> dict[Any, Any]:
    import tl_nn as nn

    recurrent = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
    if dtype is qint8:
        return dict.fromkeys((nn.Linear, *recurrent), default_dynamic_qconfig)
    if dtype is tl_core.float16:
        return dict.fromkeys((nn.Linear, *recurrent), float16_dynamic_qconfig)
    if dtype is quint8:
        return dict.fromkeys((nn.EmbeddingBag, nn.Embedding), float_qparams_weight_only_qconfig)
    raise ValueError(
        f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
    )


def quantize_dynamic(
    model: Module,
    qconfig_spec: Any = None,
    dtype: Any = qint8,
    mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """A model whose weights are integers, and whose numbers are quantized at each call: it needs no data.

    Args:
        model (Module): Of floating numbers.
        qconfig_spec (dict or set, optional): Configurations by class or name, or the classes and names that are
            quantized. By default linear and recurrent layers.
        dtype (dtype): `qint8`, float16, which halves the weights, or `quint8` for embeddings.
        mapping, inplace: As of `convert`.

    Raises:
        ValueError: If there is no configuration for that type.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> model = tq.quantize_dynamic(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
        >>> model(tl_core.rand(3, 4)).shape
        torch.Size([3, 2])
    """
    default = None if isinstance(qconfig_spec, dict) else _dynamic_spec(dtype)
    if default is None:
        spec = qconfig_spec
    elif qconfig_spec is None:
        spec = default
    else:
        spec = dict.fromkeys(qconfig_spec, next(iter(default.values())))
    model = model if inplace else deepcopy(model)
    model.eval()
    propagate_qconfig_(model, spec)
    table = get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    convert(model, table, inplace=True)
    return model


def prepare_qat(model: Module, mapping: dict[Any, Any] | None = None, inplace: bool = False) -> Module:
    """Adds rounding of weights and results to a model. Train it, then call `convert`.

    Args:
        model (Module): In training, with a `qconfig` such as `get_default_qat_qconfig()`.
        mapping (dict, optional): Classes with `from_float`, by the class they replace.
        inplace (bool): Whether the model itself is changed.

    Raises:
        AssertionError: If the model is in evaluation.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> model = nn.Sequential(tq.QuantStub(), nn.Linear(4, 2), tq.DeQuantStub())
        >>> model.qconfig = tq.get_default_qat_qconfig("fbgemm")
        >>> prepared = tq.prepare_qat(model)
        >>> prepared(tl_core.rand(16, 4)).sum().backward()
        >>> tq.convert(prepared.eval())(tl_core.rand(3, 4)).shape
        torch.Size([3, 2])
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    model = model if inplace else deepcopy(model)
    table = get_default_qat_module_mappings() if mapping is None else mapping
    propagate_qconfig_(model)
    convert(model, table, inplace=True, remove_qconfig=False)
    prepare(model, inplace=True, observer_non_leaf_module_list=set(table.values()))
    return model


def quantize_qat(model: Module, run_fn: Callable[..., Any], run_args: Any, inplace: bool = False) -> Module:
    """Prepares a model for training with rounding, trains it, and converts it.

    Args:
        model (Module): With a `qconfig`, or with parts that have one.
        run_fn (callable): Called with the prepared model and `run_args`: trains it.
        run_args (tuple): For `run_fn`.
        inplace (bool): Whether the model itself is changed.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 1))
        >>> model.qconfig = tq.get_default_qconfig("x86")
        >>> model.qconfig = tq.get_default_qat_qconfig("x86")
        >>> _ = model.train()
        >>> quantized = tq.quantize_qat(tq.QuantWrapper(model), lambda m: m(tl_core.ones(4, 2)), ())
        >>> type(quantized.module[0]).__name__
        'Linear'
    """
    model = model if inplace else deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model.eval(), inplace=True)
    return model
