"""Exceptions from the rules of the graph mode: modules that aren't traced, custom classes, kept attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..backend_config import BackendConfig
from ..qconfig_mapping import QConfigMapping
from ..quant_type import QuantType, quant_type_from_str, quant_type_to_str

__all__ = ["ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "StandaloneModuleConfigEntry"]

# The keys of the dictionaries of a configuration.
STANDALONE_MODULE_NAME_DICT_KEY = "standalone_module_name"
STANDALONE_MODULE_CLASS_DICT_KEY = "standalone_module_class"
FLOAT_TO_OBSERVED_DICT_KEY = "float_to_observed_custom_module_class"
OBSERVED_TO_QUANTIZED_DICT_KEY = "observed_to_quantized_custom_module_class"
PRESERVED_ATTRIBUTES_DICT_KEY = "preserved_attributes"

NON_TRACEABLE_MODULE_NAME_DICT_KEY = "non_traceable_module_name"
NON_TRACEABLE_MODULE_CLASS_DICT_KEY = "non_traceable_module_class"
INPUT_QUANTIZED_INDEXES_DICT_KEY = "input_quantized_idxs"
OUTPUT_QUANTIZED_INDEXES_DICT_KEY = "output_quantized_idxs"

# The lists of `PrepareCustomConfig`: attribute by key of dictionaries.
_LISTS = {
    NON_TRACEABLE_MODULE_NAME_DICT_KEY: "non_traceable_module_names",
    NON_TRACEABLE_MODULE_CLASS_DICT_KEY: "non_traceable_module_classes",
    INPUT_QUANTIZED_INDEXES_DICT_KEY: "input_quantized_indexes",
    OUTPUT_QUANTIZED_INDEXES_DICT_KEY: "output_quantized_indexes",
    PRESERVED_ATTRIBUTES_DICT_KEY: "preserved_attributes",
}

Classes = dict[QuantType, dict[type, type]]


@dataclass
class StandaloneModuleConfigEntry:
    """How a module that is quantized apart from its parent is prepared.

    Args:
        qconfig_mapping: the configurations of its parts, or None for those of the parent.
        example_inputs: inputs of the module.
        prepare_custom_config: exceptions, or None for none.
        backend_config: the backend, or None for that of the parent.
    """

    qconfig_mapping: QConfigMapping | None
    example_inputs: tuple[Any, ...]
    prepare_custom_config: PrepareCustomConfig | None
    backend_config: BackendConfig | None


def _read(kind: Any, value: Any, name: str) -> Any:
    """An object of a class, from itself, its dictionary or None."""
    if value is None or isinstance(value, kind):
        return value
    if isinstance(value, dict):
        return kind.from_dict(value)
    raise ValueError(f"{name} must be a {kind.__name__} or a dictionary, but got {type(value).__name__}")


def _class_table(table: dict[str, dict[type, type]] | None) -> Classes:
    return {quant_type_from_str(name): dict(classes) for name, classes in (table or {}).items()}


def _class_dict(table: Classes) -> dict[str, dict[type, type]]:
    return {quant_type_to_str(kind): dict(classes) for kind, classes in table.items()}


class PrepareCustomConfig:
    """Exceptions for `prepare_fx` and `prepare_qat_fx`.

    Example:
        >>> config = PrepareCustomConfig().set_input_quantized_indexes([0])
        >>> config.to_dict()
        {'input_quantized_idxs': [0]}
    """

    def __init__(self) -> None:
        self.standalone_module_names: dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: dict[type, StandaloneModuleConfigEntry] = {}
        self.float_to_observed_mapping: Classes = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []
        self.preserved_attributes: list[str] = []

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if value}
        return f"PrepareCustomConfig({shown})"

    def set_standalone_module_name(
        self,
        module_name: str,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> PrepareCustomConfig:
        """Declares a module, by its name, as quantized apart from its parent.

        Args:
            module_name: the module's name.
            qconfig_mapping: the configurations of its parts, or None for those of the parent.
            example_inputs: inputs of the module.
            prepare_custom_config: exceptions, or None for none.
            backend_config: the backend, or None for that of the parent.
        """
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_standalone_module_class(
        self,
        module_class: type,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> PrepareCustomConfig:
        """Declares the modules of a class as quantized apart from their parents.

        Args:
            module_class: the class.
            qconfig_mapping: the configurations of their parts, or None for those of the parent.
            example_inputs: inputs of the modules.
            prepare_custom_config: exceptions, or None for none.
            backend_config: the backend, or None for that of the parent.
        """
        self.standalone_module_classes[module_class] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_float_to_observed_mapping(
        self, float_class: type, observed_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> PrepareCustomConfig:
        """Sets the class that observes in place of a float class, with `from_float`.

        Args:
            float_class: the float class.
            observed_class: the class that observes.
            quant_type: the kind of quantization.

        Raises:
            ValueError: If the kind isn't static.
        """
        if quant_type != QuantType.STATIC:
            raise ValueError(
                "set_float_to_observed_mapping is supported only for quant_type QuantType.STATIC, but got "
                f"{quant_type!r}"
            )
        self.float_to_observed_mapping.setdefault(quant_type, {})[float_class] = observed_class
        return self

    def set_non_traceable_module_names(self, module_names: list[str]) -> PrepareCustomConfig:
        """Sets the modules, by name, that are one call in the graph."""
        self.non_traceable_module_names = module_names
        return self

    def set_non_traceable_module_classes(self, module_classes: list[type]) -> PrepareCustomConfig:
        """Sets the classes whose modules are one call in the graph."""
        self.non_traceable_module_classes = module_classes
        return self

    def set_input_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Sets the inputs of the graph that are quantized."""
        self.input_quantized_indexes = indexes
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """Sets the results of the graph that are quantized."""
        self.output_quantized_indexes = indexes
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> PrepareCustomConfig:
        """Sets the attributes of the model that the graph module keeps, though the graph doesn't use them."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, prepare_custom_config_dict: dict[str, Any]) -> PrepareCustomConfig:
        """The configuration of a dictionary, as `to_dict` returns it. Keys may be absent.

        Raises:
            ValueError: If an entry has another type.
        """
        table, config = prepare_custom_config_dict, cls()
        for key, add in (
            (STANDALONE_MODULE_NAME_DICT_KEY, config.set_standalone_module_name),
            (STANDALONE_MODULE_CLASS_DICT_KEY, config.set_standalone_module_class),
        ):
            for target, mapping, inputs, custom, backend in table.get(key, []):
                add(
                    target,
                    _read(QConfigMapping, mapping, key),
                    inputs,
                    _read(cls, custom, key),
                    _read(BackendConfig, backend, key),
                )
        config.float_to_observed_mapping = _class_table(table.get(FLOAT_TO_OBSERVED_DICT_KEY))
        for key, attribute in _LISTS.items():
            setattr(config, attribute, table.get(key, []))
        return config

    def to_dict(self) -> dict[str, Any]:
        """A dictionary with what is set."""
        table: dict[str, Any] = {}
        entries: Iterable[tuple[str, dict[Any, StandaloneModuleConfigEntry]]] = (
            (STANDALONE_MODULE_NAME_DICT_KEY, self.standalone_module_names),
            (STANDALONE_MODULE_CLASS_DICT_KEY, self.standalone_module_classes),
        )
        for key, standalone in entries:
            if standalone:
                table[key] = [_entry(target, entry) for target, entry in standalone.items()]
        if self.float_to_observed_mapping:
            table[FLOAT_TO_OBSERVED_DICT_KEY] = _class_dict(self.float_to_observed_mapping)
        for key, attribute in _LISTS.items():
            if getattr(self, attribute):
                table[key] = getattr(self, attribute)
        return table


def _entry(target: Any, entry: StandaloneModuleConfigEntry) -> tuple[Any, ...]:
    mapping, custom = entry.qconfig_mapping, entry.prepare_custom_config
    return (
        target,
        mapping.to_dict() if mapping else None,
        entry.example_inputs,
        custom.to_dict() if custom else None,
        entry.backend_config,
    )


class ConvertCustomConfig:
    """Exceptions for `convert_fx`.

    Example:
        >>> ConvertCustomConfig().set_preserved_attributes(["name"]).to_dict()
        {'preserved_attributes': ['name']}
    """

    def __init__(self) -> None:
        self.observed_to_quantized_mapping: Classes = {}
        self.preserved_attributes: list[str] = []

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if value}
        return f"ConvertCustomConfig({shown})"

    def set_observed_to_quantized_mapping(
        self, observed_class: type, quantized_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> ConvertCustomConfig:
        """Sets the class that replaces an observed class, with `from_observed`.

        Args:
            observed_class: the class that observes.
            quantized_class: the class that replaces it.
            quant_type: the kind of quantization.
        """
        self.observed_to_quantized_mapping.setdefault(quant_type, {})[observed_class] = quantized_class
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> ConvertCustomConfig:
        """Sets the attributes of the model that the graph module keeps, though the graph doesn't use them."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, convert_custom_config_dict: dict[str, Any]) -> ConvertCustomConfig:
        """The configuration of a dictionary, as `to_dict` returns it. Keys may be absent."""
        config = cls()
        config.observed_to_quantized_mapping = _class_table(
            convert_custom_config_dict.get(OBSERVED_TO_QUANTIZED_DICT_KEY)
        )
        config.preserved_attributes = convert_custom_config_dict.get(PRESERVED_ATTRIBUTES_DICT_KEY, [])
        return config

    def to_dict(self) -> dict[str, Any]:
        """A dictionary with what is set."""
        table: dict[str, Any] = {}
        if self.observed_to_quantized_mapping:
            table[OBSERVED_TO_QUANTIZED_DICT_KEY] = _class_dict(self.observed_to_quantized_mapping)
        if self.preserved_attributes:
            table[PRESERVED_ATTRIBUTES_DICT_KEY] = self.preserved_attributes
        return table


class FuseCustomConfig:
    """Exceptions for `fuse_fx`.

    Example:
        >>> FuseCustomConfig().set_preserved_attributes(["name"]).to_dict()
        {'preserved_attributes': ['name']}
    """

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []

    def __repr__(self) -> str:
        return f"FuseCustomConfig({ {name: value for name, value in vars(self).items() if value} })"

    def set_preserved_attributes(self, attributes: list[str]) -> FuseCustomConfig:
        """Sets the attributes of the model that the graph module keeps, though the graph doesn't use them."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, fuse_custom_config_dict: dict[str, Any]) -> FuseCustomConfig:
        """The configuration of a dictionary, as `to_dict` returns it. Keys may be absent."""
        return cls().set_preserved_attributes(fuse_custom_config_dict.get(PRESERVED_ATTRIBUTES_DICT_KEY, []))

    def to_dict(self) -> dict[str, Any]:
        """A dictionary with what is set."""
        return {PRESERVED_ATTRIBUTES_DICT_KEY: self.preserved_attributes} if self.preserved_attributes else {}
