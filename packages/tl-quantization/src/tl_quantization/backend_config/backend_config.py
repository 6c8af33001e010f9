"""What a backend quantizes: patterns of operators, and the types that each pattern supports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .patterns import nested_form

__all__ = ["BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints", "ObservationType"]


class ObservationType(Enum):
    """How a pattern's input and result are observed."""

    #: The result has an observer of its own.
    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    #: The result has the scale of the input.
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    #: Neither has an observer, as in `x.size()`.
    INPUT_OUTPUT_NOT_OBSERVED = 2


@dataclass
class DTypeWithConstraints:
    """A type, and limits of the scales that a backend can compute with.

    Args:
        dtype (dtype, optional): The type. None for none.
        quant_min_lower_bound, quant_max_upper_bound (int or float, optional): The range of the integers.
        scale_min_lower_bound, scale_max_upper_bound (int or float, optional): The range of the scale.
        scale_exact_match, zero_point_exact_match (float, int, optional): The only scale and zero point.

    Example:
        >>> import tl_quantization as tq
        >>> DTypeWithConstraints(tq.quint8, 0, 255).quant_max_upper_bound
        255
    """

    dtype: Any = None
    quant_min_lower_bound: int | float | None = None
    quant_max_upper_bound: int | float | None = None
    scale_min_lower_bound: int | float | None = None
    scale_max_upper_bound: int | float | None = None
    scale_exact_match: float | None = None
    zero_point_exact_match: int | None = None


def _constraints(dtype: Any) -> DTypeWithConstraints:
    return dtype if isinstance(dtype, DTypeWithConstraints) else DTypeWithConstraints(dtype=dtype)


_TYPE_KEYS = ("input_dtype", "output_dtype", "weight_dtype")


@dataclass
class DTypeConfig:
    """The types of a pattern's input, result, weight and bias.

    Args:
        input_dtype, output_dtype, weight_dtype (dtype or DTypeWithConstraints, optional): The types.
        bias_dtype (dtype, optional): The type of the bias.
        is_dynamic (bool, optional): Whether the input is quantized at each call.

    Example:
        >>> import tl_quantization as tq
        >>> DTypeConfig(input_dtype=tq.quint8, weight_dtype=tq.qint8).weight_dtype
        torch.qint8
    """

    input_dtype_with_constraints: DTypeWithConstraints
    output_dtype_with_constraints: DTypeWithConstraints
    weight_dtype_with_constraints: DTypeWithConstraints
    bias_dtype: Any
    is_dynamic: bool | None

    def __init__(
        self,
        input_dtype: Any = None,
        output_dtype: Any = None,
        weight_dtype: Any = None,
        bias_dtype: Any = None,
        is_dynamic: bool | None = None,
    ) -> None:
        self.input_dtype_with_constraints = _constraints(input_dtype)
        self.output_dtype_with_constraints = _constraints(output_dtype)
        self.weight_dtype_with_constraints = _constraints(weight_dtype)
        self.bias_dtype = bias_dtype
        self.is_dynamic = is_dynamic

    @property
    def input_dtype(self) -> Any:
        """The type of the input."""
        return self.input_dtype_with_constraints.dtype

    @property
    def output_dtype(self) -> Any:
        """The type of the result."""
        return self.output_dtype_with_constraints.dtype

    @property
    def weight_dtype(self) -> Any:
        """The type of the weight."""
        return self.weight_dtype_with_constraints.dtype

    @classmethod
    def from_dict(cls, dtype_config_dict: dict[str, Any]) -> DTypeConfig:
        """The configuration of a dictionary with the arguments' names, each of which may be absent.

        Raises:
            ValueError: If a type is no dtype and no DTypeWithConstraints.
        """
        import tl_core

        for name in _TYPE_KEYS:
            value = dtype_config_dict.get(name)
            if value is not None and not isinstance(value, (tl_core.dtype, DTypeWithConstraints)):
                raise ValueError(f"{name} must be a dtype or a DTypeWithConstraints, but got {value!r}")
        inputs, outputs, weights = (dtype_config_dict.get(name) for name in _TYPE_KEYS)
        return cls(
            inputs,
            outputs,
            weights,
            bias_dtype=dtype_config_dict.get("bias_dtype"),
            is_dynamic=dtype_config_dict.get("is_dynamic"),
        )

    def to_dict(self) -> dict[str, Any]:
        """A dictionary with the arguments' names: types with their constraints, and what is set of the others."""
        table: dict[str, Any] = {
            name: constrained
            for name in _TYPE_KEYS
            if (constrained := getattr(self, f"{name}_with_constraints")).dtype is not None
        }
        if self.bias_dtype:
            table["bias_dtype"] = self.bias_dtype
        if self.is_dynamic:
            table["is_dynamic"] = self.is_dynamic
        return table


# The attributes of a pattern's configuration by their names in dictionaries, without pattern and types.
_OPTIONS = {
    "observation_type": "observation_type",
    "root_module": "root_module",
    "qat_module": "qat_module",
    "reference_quantized_module_for_root": "reference_quantized_module",
    "fused_module": "fused_module",
    "fuser_method": "fuser_method",
    "root_node_getter": "_root_node_getter",
    "extra_inputs_getter": "_extra_inputs_getter",
    "num_tensor_args_to_observation_type": "_num_tensor_args_to_observation_type",
    "input_type_to_index": "_input_type_to_index",
}


class BackendPatternConfig:
    """What a backend does with a pattern of operators.

    Args:
        pattern: A module class, a function, the name of a method, or a tuple of up to three of them, in the order of
            the calls.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.backend_config import BackendPatternConfig, DTypeConfig
        >>> types = DTypeConfig(tq.quint8, tq.quint8, tq.qint8, tl_core.float32)
        >>> config = BackendPatternConfig(tl_nn.Linear).add_dtype_config(types).set_root_module(tl_nn.Linear)
        >>> config.root_module is tl_nn.Linear, len(config.dtype_configs)
        (True, 1)
    """

    def __init__(self, pattern: Any = None) -> None:
        self.pattern = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module: Any = None
        self.qat_module: Any = None
        self.reference_quantized_module: Any = None
        self.fused_module: Any = None
        self.fuser_method: Callable[..., Any] | None = None
        self._root_node_getter: Callable[..., Any] | None = None
        self._extra_inputs_getter: Callable[..., Any] | None = None
        self._num_tensor_args_to_observation_type: dict[int, ObservationType] = {}
        self._input_type_to_index: dict[str, int] = {}
        self._pattern_complex_format: Any = None

    def __repr__(self) -> str:
        shown = {n: v for n, v in vars(self).items() if v is not None and v != [] and v != {}}
        return f"BackendPatternConfig({shown})"

    def set_pattern(self, pattern: Any) -> BackendPatternConfig:
        """Sets the pattern, in the order of the calls.

        Raises:
            ValueError: If the pattern in the order of the results is set.
        """
        if self._pattern_complex_format is not None:
            raise ValueError("Only one of 'pattern' or 'pattern_complex_format' can be set")
        self.pattern = pattern
        return self

    def set_observation_type(self, observation_type: ObservationType) -> BackendPatternConfig:
        """Sets how input and result are observed."""
        self.observation_type = observation_type
        return self

    def add_dtype_config(self, dtype_config: DTypeConfig) -> BackendPatternConfig:
        """Adds a set of types that the backend supports."""
        self.dtype_configs.append(dtype_config)
        return self

    def set_dtype_configs(self, dtype_configs: list[DTypeConfig]) -> BackendPatternConfig:
        """Replaces the sets of types that the backend supports."""
        self.dtype_configs = dtype_configs
        return self

    def set_root_module(self, root_module: Any) -> BackendPatternConfig:
        """Sets the class of the module with the weight, such as Linear in a fused layer."""
        self.root_module = root_module
        return self

    def set_qat_module(self, qat_module: Any) -> BackendPatternConfig:
        """Sets the class that trains with rounding."""
        self.qat_module = qat_module
        return self

    def set_reference_quantized_module(self, reference_quantized_module: Any) -> BackendPatternConfig:
        """Sets the class that replaces the root module and keeps the float weight."""
        self.reference_quantized_module = reference_quantized_module
        return self

    def set_fused_module(self, fused_module: Any) -> BackendPatternConfig:
        """Sets the class of the fused layer."""
        self.fused_module = fused_module
        return self

    def set_fuser_method(self, fuser_method: Callable[..., Any]) -> BackendPatternConfig:
        """Sets the function that fuses: called with `is_qat` and the pattern's modules."""
        self.fuser_method = fuser_method
        return self

    def _set_root_node_getter(self, root_node_getter: Callable[..., Any]) -> BackendPatternConfig:
        self._root_node_getter = root_node_getter
        return self

    def _set_extra_inputs_getter(self, extra_inputs_getter: Callable[..., Any]) -> BackendPatternConfig:
        self._extra_inputs_getter = extra_inputs_getter
        return self

    def _set_num_tensor_args_to_observation_type(
        self, num_tensor_args_to_observation_type: dict[int, ObservationType]
    ) -> BackendPatternConfig:
        self._num_tensor_args_to_observation_type = num_tensor_args_to_observation_type
        return self

    def _set_input_type_to_index(self, input_type_to_index: dict[str, int]) -> BackendPatternConfig:
        self._input_type_to_index = input_type_to_index
        return self

    def _set_pattern_complex_format(self, pattern: Any) -> BackendPatternConfig:
        if self.pattern is not None:
            raise ValueError("Only one of 'pattern' or 'pattern_complex_format' can be set")
        self._pattern_complex_format = pattern
        return self

    @classmethod
    def from_dict(cls, backend_pattern_config_dict: dict[str, Any]) -> BackendPatternConfig:
        """The configuration of a dictionary, as `to_dict` returns it. Keys may be absent.

        Raises:
            ValueError: If an entry of `dtype_configs` is no dictionary and no DTypeConfig.
        """
        table = backend_pattern_config_dict
        config = cls(table.get("pattern"))
        for name, attribute in _OPTIONS.items():
            if name in table:
                setattr(config, attribute, table[name])
        config._pattern_complex_format = table.get("pattern_complex_format")
        for entry in table.get("dtype_configs", []):
            config.add_dtype_config(_dtype_config(entry))
        return config

    def to_dict(self) -> dict[str, Any]:
        """A dictionary with what is set."""
        table: dict[str, Any] = {}
        if self.pattern is not None:
            table["pattern"] = self.pattern
        for name, attribute in _OPTIONS.items():
            value = getattr(self, attribute)
            if value is not None and value != {}:
                table[name] = value
            if name == "observation_type":
                table["dtype_configs"] = [config.to_dict() for config in self.dtype_configs]
        if self._pattern_complex_format is not None:
            table["pattern_complex_format"] = self._pattern_complex_format
        return table


def _dtype_config(entry: Any) -> DTypeConfig:
    if isinstance(entry, DTypeConfig):
        return entry
    if isinstance(entry, dict):
        return DTypeConfig.from_dict(entry)
    raise ValueError(f"dtype_configs must have dictionaries and DTypeConfigs, but got {entry!r}")


class BackendConfig:
    """The patterns that a backend quantizes.

    Args:
        name (str): The backend's name.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.backend_config import BackendConfig, BackendPatternConfig
        >>> len(BackendConfig("mine").set_backend_pattern_config(BackendPatternConfig(tl_nn.Linear)).configs)
        1
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._pattern_complex_format_to_config: dict[Any, BackendPatternConfig] = {}

    def __repr__(self) -> str:
        return f"BackendConfig({vars(self)})"

    def set_name(self, name: str) -> BackendConfig:
        """Sets the name."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> BackendConfig:
        """Adds the configuration of a pattern, in place of an earlier one for the same pattern."""
        self._pattern_complex_format_to_config[nested_form(config)] = config
        return self

    def set_backend_pattern_configs(self, configs: list[BackendPatternConfig]) -> BackendConfig:
        """Adds the configurations of several patterns."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """The configurations of the patterns."""
        return list(self._pattern_complex_format_to_config.values())

    @classmethod
    def from_dict(cls, backend_config_dict: dict[str, Any]) -> BackendConfig:
        """The backend of a dictionary with `name` and `configs`.

        Raises:
            ValueError: If an entry of `configs` is no dictionary and no BackendPatternConfig.
        """
        backend = cls(backend_config_dict.get("name", ""))
        for entry in backend_config_dict.get("configs", []):
            if isinstance(entry, dict):
                backend.set_backend_pattern_config(BackendPatternConfig.from_dict(entry))
            elif isinstance(entry, BackendPatternConfig):
                backend.set_backend_pattern_config(entry)
            else:
                raise ValueError(
                    f"configs must have dictionaries and BackendPatternConfigs, but got {entry!r}"
                )
        return backend

    def to_dict(self) -> dict[str, Any]:
        """A dictionary with `name` and `configs`."""
        return {"name": self.name, "configs": [config.to_dict() for config in self.configs]}
