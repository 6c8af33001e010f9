"""Several configurations for each layer of a model, which are tried side by side."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ..qconfig import qconfig_equals
from ..qconfig_mapping import QConfigMapping

__all__ = ["QConfigMultiMapping"]

_METHODS = {
    "global_qconfig": "set_global",
    "object_type_qconfigs": "set_object_type",
    "module_name_regex_qconfigs": "set_module_name_regex",
    "module_name_qconfigs": "set_module_name",
    "module_name_object_type_order_qconfigs": "set_module_name_object_type_order",
}
_TABLES = [name for name in _METHODS if name != "global_qconfig"]


def _distinct(qconfigs: list[Any]) -> list[Any]:
    result: list[Any] = []
    for qconfig in qconfigs:
        if qconfig is not None and not any(qconfig_equals(qconfig, other) for other in result):
            result.append(qconfig)
    return result


class QConfigMultiMapping:
    """A list of `QConfigMapping`: each method takes a list with a configuration for each mapping.

    Equal configurations count once. A mapping without one for a layer has None.

    Example:
        >>> import tl_nn as nn, tl_quantization as tq
        >>> several = QConfigMultiMapping().set_object_type(nn.Linear, [tq.default_qconfig, tq.default_dynamic_qconfig])
        >>> len(several.qconfig_mappings_list)
        2
    """

    def __init__(self) -> None:
        self.qconfig_mappings_list: list[QConfigMapping] = [QConfigMapping()]

    def _insert(self, style: str, key: tuple[Any, ...], qconfigs: list[Any]) -> QConfigMultiMapping:
        qconfigs = _distinct(qconfigs)
        mappings = self.qconfig_mappings_list
        while len(mappings) < len(qconfigs):
            mappings.append(self._like_first())
        qconfigs += [None] * (len(mappings) - len(qconfigs))
        for mapping, qconfig in zip(mappings, qconfigs, strict=True):
            getattr(mapping, _METHODS[style])(*key, qconfig)
        return self

    def _like_first(self) -> QConfigMapping:
        """A mapping with the keys of the first one, all without a configuration."""
        mapping = QConfigMapping()
        for name in _TABLES:
            getattr(mapping, name).update(dict.fromkeys(getattr(self.qconfig_mappings_list[0], name)))
        return mapping

    def set_global(self, global_qconfig_list: list[Any]) -> QConfigMultiMapping:
        """Sets the configurations of all layers without another one.

        Args:
            global_qconfig_list: the configurations.
        """
        return self._insert("global_qconfig", (), global_qconfig_list)

    def set_object_type(self, object_type: Any, qconfig_list: list[Any]) -> QConfigMultiMapping:
        """Sets the configurations of a class of modules, a function, or a method by its name.

        Args:
            object_type: the class, function or name.
            qconfig_list: the configurations.
        """
        return self._insert("object_type_qconfigs", (object_type,), qconfig_list)

    def set_module_name_regex(self, module_name_regex: str, qconfig_list: list[Any]) -> QConfigMultiMapping:
        """Sets the configurations of modules whose names a pattern matches.

        Args:
            module_name_regex: the pattern.
            qconfig_list: the configurations.
        """
        return self._insert("module_name_regex_qconfigs", (module_name_regex,), qconfig_list)

    def set_module_name(self, module_name: str, qconfig_list: list[Any]) -> QConfigMultiMapping:
        """Sets the configurations of a module.

        Args:
            module_name: the name of the module.
            qconfig_list: the configurations.
        """
        return self._insert("module_name_qconfigs", (module_name,), qconfig_list)

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig_list: list[Any]
    ) -> QConfigMultiMapping:
        """Sets the configurations of one call in a module.

        Args:
            module_name: the module that calls.
            object_type: the class, function or method that is called.
            index: the position among the module's calls of this object.
            qconfig_list: the configurations.
        """
        key = (module_name, object_type, index)
        return self._insert("module_name_object_type_order_qconfigs", key, qconfig_list)

    def __repr__(self) -> str:
        lines = "".join(f"\n{mapping!r}," for mapping in self.qconfig_mappings_list)
        return f"{type(self).__name__} [{lines}\n]"

    @classmethod
    def from_list_qconfig_mapping(cls, qconfig_mapping_list: list[QConfigMapping]) -> QConfigMultiMapping:
        """Several mappings as one object. Configurations of a layer that are equal count once.

        Args:
            qconfig_mapping_list: the mappings, which are copied.
        """
        result = cls()
        result.qconfig_mappings_list = deepcopy(qconfig_mapping_list)
        for style in _TABLES:
            lists: dict[Any, list[Any]] = {}
            for mapping in qconfig_mapping_list:
                for key, qconfig in getattr(mapping, style).items():
                    lists.setdefault(key, []).append(qconfig)
            for key, qconfigs in lists.items():
                result._insert(style, key if isinstance(key, tuple) else (key,), qconfigs)
        return result
