"""The base of sparsifiers of tensors: a container of their own has the tensors and their masks."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections import defaultdict
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor
from tl_nn import Module
from tl_nn.utils import parametrize

from ..sparsifier.base_sparsifier import BaseSparsifier
from ..sparsifier.utils import FakeSparsity

__all__ = ["BaseDataSparsifier"]

EMBEDDING_TYPES: set[Any] = {nn.Embedding, nn.EmbeddingBag}
SUPPORTED_TYPES: set[Any] = {Tensor, nn.Parameter, *EMBEDDING_TYPES}


class _Container(Module):
    """The tensors, as buffers with parametrizations."""


class BaseDataSparsifier(BaseSparsifier):
    """The base class of sparsifiers of tensors and embeddings. A class of one's own has `update_mask`.

    The sparsifier has the masks. It shares the memory of the tensors.

    Args:
        data_list (list of tuples, optional): Names and tensors, parameters, `Embedding` or `EmbeddingBag`.
        **defaults: Arguments of `update_mask` for all tensors.

    Example:
        >>> import tl_core
        >>> class First(BaseDataSparsifier):
        ...     def update_mask(self, name, data, **kwargs):
        ...         self.get_mask(name)[0] = 0
        >>> sparsifier = First([("table", tl_core.ones(2, 2))])
        >>> sparsifier.step()
        >>> sparsifier.get_data("table", return_original=False)
        tensor([[0., 0.],
                [1., 1.]])
    """

    def __init__(self, data_list: list[tuple[str, Any]] | None = None, **defaults: Any) -> None:
        super().__init__(defaults=defaults)
        self._container: Module = _Container()
        self.data_groups: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, data in data_list or ():
            self.add_data(name, data, **self.defaults)

    def prepare(self, model: Module, config: list[dict[str, Any]] | None) -> None:
        """Raises NotImplementedError: `add_data` takes the tensors.

        Args:
            model: of no effect.
            config: of no effect.
        """
        raise NotImplementedError("A sparsifier of tensors has no prepare. Call add_data for each tensor")

    def _extract_weight(self, data: Any) -> Tensor:
        """The tensor itself, or the weight of an embedding."""
        weight: Tensor = data.weight if type(data) in EMBEDDING_TYPES else data
        return weight

    def add_data(self, name: str, data: Any, reuse_mask: bool = True, **config: Any) -> Tensor:
        """Adds a tensor, or replaces the tensor of the same name with a warning.

        Args:
            name: its name, without dots.
            data: the tensor or embedding.
            reuse_mask: whether a replacement keeps the mask. Then it has the same shape.
            **config: arguments of `update_mask`. A replacement keeps those of the tensor before it.

        Returns:
            The tensor with its mask.

        Raises:
            AssertionError: For another type, or a replacement of another shape that keeps the mask.
        """
        if type(data) not in SUPPORTED_TYPES:
            names = ", ".join(sorted(t.__name__ for t in SUPPORTED_TYPES))
            raise AssertionError(f"data must be one of {names}, but got {type(data).__name__}")
        weight = self._extract_weight(data)
        arguments = {**copy.deepcopy(self.defaults), **config}
        mask = arguments.get("mask", tl_core.ones_like(weight.detach()))
        kind = arguments.get("parametrization", FakeSparsity)
        if name in self.state:
            warnings.warn(
                "Replacing existing data of the same name. - Did you mean a different name?", stacklevel=2
            )
            arguments = {**copy.deepcopy(self.data_groups[name]), **config}
            if reuse_mask:
                shape = self.get_data(name).shape
                if weight.shape != shape:
                    raise AssertionError(
                        f"data must have the shape {tuple(shape)} of the tensor whose mask it takes, but got "
                        f"{tuple(weight.shape)}; pass reuse_mask=False for a new mask"
                    )
                mask = self.get_mask(name)
            self._delete_data(name)
        self._container.register_buffer(name, weight)
        parametrize.register_parametrization(self._container, name, kind(mask))
        self.state[name]["mask"] = mask
        self.data_groups[name] = arguments
        result: Tensor = getattr(self._container, name)
        return result

    def get_data(self, name: str, return_original: bool = True) -> Tensor:
        """A tensor.

        Args:
            name: its name.
            return_original: whether the result is without the mask.

        Raises:
            ValueError: If no tensor has the name, or `squash_mask` has removed the mask of the original.
        """
        if name not in self.data_groups:
            raise ValueError(f"data with the name {name!r} does not exist")
        result: Tensor
        if not return_original:
            result = getattr(self._container, name)
        elif parametrize.is_parametrized(self._container, name):
            parts: Any = self._container.parametrizations
            result = parts[name].original
        else:
            raise ValueError(f"squash_mask has written the mask of {name!r}, so the original does not exist")
        return result

    def get_mask(self, name: str) -> Tensor:
        """The mask of a tensor.

        Args:
            name: its name.

        Raises:
            ValueError: If no tensor has the name.
        """
        if name not in self.state:
            raise ValueError(f"data with the name {name!r} does not exist")
        mask: Tensor = self.state[name]["mask"]
        return mask

    def state_dict(self) -> dict[str, Any]:
        """The masks as sparse tensors, the configurations and the tensors."""
        return {
            "state": _convert_masks(self.state, is_sparse=True),
            "data_groups": self.data_groups,
            "_container": self._container.state_dict(),
        }

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Takes masks, configurations and tensors.

        Args:
            state_dict: from `state_dict`.
            strict: whether they replace all others. If False, the tensors of this sparsifier stay, and those of other
                names come to them.

        Raises:
            RuntimeError: If a tensor or its configuration is missing.
        """
        state = copy.deepcopy({key: state_dict[key] for key in ("state", "data_groups", "_container")})
        masks = _convert_masks(state["state"], is_sparse=False)
        groups = state["data_groups"]
        if strict:
            self._container = _Container()
        else:
            masks = {name: value for name, value in masks.items() if name not in self.state}
        self._load_container(masks, groups, state["_container"])
        if not strict:
            masks.update(self.state)
            groups.update(self.data_groups)
        self.state, self.data_groups = defaultdict(dict, masks), groups

    def _load_container(self, states: Any, groups: Any, values: dict[str, Tensor]) -> None:
        for name, state in states.items():
            original = f"parametrizations.{name}.original"
            if name not in groups or not (name in values or original in values):
                raise RuntimeError(f"Error loading {name}")
            if name in values:  # `squash_mask` has written the mask
                self._container.register_buffer(name, values[name])
                continue
            self._container.register_buffer(name, values[original])
            mask = state.get("mask", tl_core.ones_like(values[original]))
            kind = groups[name].get("parametrization", FakeSparsity)
            parametrize.register_parametrization(self._container, name, kind(mask))

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, **self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        self._container = _Container()
        values, state["state"] = state.pop("_container"), _convert_masks(state["state"], is_sparse=False)
        self._load_container(state["state"], state["data_groups"], values)
        super().__setstate__(state)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for name, group in self.data_groups.items():
            text += f"\n\tData Group\n\t    name: {name}\n"
            text += "".join(f"\t    {key}: {group[key]}\n" for key in sorted(group) if key != "data")
        return text + ")"

    def squash_mask(
        self, *args: Any, leave_parametrized: bool = True, names: list[str] | None = None, **kwargs: Any
    ) -> None:
        """Removes the masks.

        Args:
            *args: of no effect.
            leave_parametrized: whether the zeros are written into the tensors first.
            names: the names of the tensors, by default all.
            **kwargs: of no effect.
        """
        for name in list(self.data_groups) if names is None else names:
            parametrize.remove_parametrizations(self._container, name, leave_parametrized=leave_parametrized)

    def step(self, use_path: bool = True) -> None:
        """Computes the masks, unless `enable_mask_update` is False.

        Args:
            use_path: of no effect.
        """
        if self.enable_mask_update:
            with tl_core.no_grad():
                for name, config in self.data_groups.items():
                    self.update_mask(name, self.get_data(name), **config)

    @abstractmethod
    def update_mask(self, name: str, data: Tensor, **kwargs: Any) -> None:  # type: ignore[override]  # no module
        """Computes the mask of a tensor: `get_mask(name)`.

        Args:
            name: its name.
            data: the tensor without its mask.
            **kwargs: the entries of its configuration.
        """

    def _delete_data(self, name: str) -> None:
        self.squash_mask(names=[name], leave_parametrized=False)
        delattr(self._container, name)
        del self.state[name], self.data_groups[name]


def _convert_masks(states: Any, is_sparse: bool) -> Any:
    """Copies of states with sparse or dense masks."""
    states = copy.deepcopy(states)
    for state in states.values():
        state["mask"] = state["mask"].to_sparse_coo() if is_sparse else state["mask"].to_dense()
    return states
