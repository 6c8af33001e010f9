"""Zeros in the inputs of layers: hooks collect the inputs, and multiply them with masks later."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ..sparsifier.utils import fqn_to_module, module_to_fqn

__all__ = ["ActivationSparsifier"]

_FUNCTIONS = ("aggregate_fn", "reduce_fn", "mask_fn")


class ActivationSparsifier:
    """Makes zeros in the inputs of layers.

    The mask of a layer is `mask_fn(reduce_fn(a))`. `a` is the inputs, joined one by one by `aggregate_fn`.

    Args:
        model (Module): The model. `register_layer` selects its layers.
        aggregate_fn (callable, optional): A function of the joined inputs so far, at first zeros, and of an input.
        reduce_fn (callable, optional): A function of the joined inputs.
        mask_fn (callable, optional): A function of the reduced inputs and the keywords of `sparse_config`.
        features (list of int, optional): The indices that have masks of their own, by default one mask for all.
        feature_dim (int, optional): The dimension of these indices.
        **sparse_config: Keywords of `mask_fn`.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Identity())
        >>> mask = lambda mean, least: (mean > least) * 1.0
        >>> sparsifier = ActivationSparsifier(model, tl_core.add, lambda total: total.mean(0), mask)
        >>> sparsifier.register_layer(model[0], least=1.5)
        >>> x = model(tl_core.tensor([[1.0, 2.0], [1.0, 3.0]]))
        >>> sparsifier.step()
        >>> sparsifier.squash_mask()
        >>> model(x)
        tensor([[0., 2.],
                [0., 3.]])
    """

    def __init__(
        self,
        model: Module,
        aggregate_fn: Callable[..., Any] | None = None,
        reduce_fn: Callable[..., Any] | None = None,
        mask_fn: Callable[..., Any] | None = None,
        features: list[int] | None = None,
        feature_dim: int | None = None,
        **sparse_config: Any,
    ) -> None:
        self.model = model
        self.defaults: dict[str, Any] = {
            "sparse_config": sparse_config,
            "aggregate_fn": aggregate_fn,
            "reduce_fn": reduce_fn,
            "mask_fn": mask_fn,
            "features": features,
            "feature_dim": feature_dim,
        }
        self.data_groups: dict[str, dict[str, Any]] = defaultdict(dict)
        self.state: dict[str, Any] = defaultdict(dict)

    @staticmethod
    def _safe_rail_checks(args: dict[str, Any]) -> None:
        if args["features"] is not None and args["feature_dim"] is None:
            raise AssertionError("feature_dim must be an int where features are selected, but got None")
        for key in _FUNCTIONS:
            if not callable(args[key]):
                raise AssertionError(f"{key} must be callable, but got {args[key]!r}")

    def register_layer(
        self,
        layer: Module,
        aggregate_fn: Callable[..., Any] | None = None,
        reduce_fn: Callable[..., Any] | None = None,
        mask_fn: Callable[..., Any] | None = None,
        features: list[int] | None = None,
        feature_dim: int | None = None,
        **sparse_config: Any,
    ) -> None:
        """Selects a layer, or changes its settings with a warning. Without an argument, the sparsifier's own holds.

        Args:
            layer: the layer.
            aggregate_fn: a function of the joined inputs so far and of an input.
            reduce_fn: a function of the joined inputs.
            mask_fn: a function of the reduced inputs and the keywords of `sparse_config`.
            features: the indices that have masks of their own.
            feature_dim: the dimension of these indices.
            **sparse_config: keywords of `mask_fn`.

        Raises:
            AssertionError: If the layer isn't in the model, a function is missing, or `features` have no `feature_dim`.
        """
        name = module_to_fqn(self.model, layer)
        if name is None:
            raise AssertionError(
                f"layer must be a module of the model, but got another {type(layer).__name__}"
            )
        if name in self.data_groups:
            warnings.warn(
                "layer already attached to the sparsifier, deregistering the layer and registering with new config",
                stacklevel=2,
            )
            self.unregister_layer(name)
        values = {
            "aggregate_fn": aggregate_fn,
            "reduce_fn": reduce_fn,
            "mask_fn": mask_fn,
            "features": features,
            "feature_dim": feature_dim,
            "layer": layer,
        }
        group = copy.deepcopy(self.defaults)
        group.update({key: value for key, value in values.items() if value is not None})
        group["sparse_config"].update(sparse_config)
        self._safe_rail_checks(group)
        self.data_groups[name] = group
        self.state[name]["mask"] = None
        group["hook"] = layer.register_forward_pre_hook(self._aggregate_hook(name))
        group["hook_state"] = "aggregate"

    def _aggregate_hook(self, name: str) -> Callable[..., None]:
        """A hook that joins the inputs of a layer."""

        def join(module: Module, inputs: Any) -> None:
            group, state, x = self.data_groups[name], self.state[name], inputs[0]
            features, data = group["features"], group.get("data")
            parts = [x] if features is None else [_feature(x, group["feature_dim"], i) for i in features]
            if data is None:
                before = [tl_core.zeros_like(part) for part in parts]
                masks = [tl_core.ones_like(part) for part in parts]
                state["mask"] = masks[0] if features is None else masks
            else:
                before = [data] if features is None else data
            joined = [group["aggregate_fn"](old, part) for old, part in zip(before, parts, strict=True)]
            group["data"] = joined[0] if features is None else joined

        return join

    def get_mask(self, name: str | None = None, layer: Module | None = None) -> Any:
        """The mask of a layer: a tensor, or a tensor for each feature.

        Args:
            name: the name of the layer.
            layer: the layer, if there is no name.

        Raises:
            AssertionError: If neither is there, or the layer isn't in the model.
            ValueError: If the layer isn't registered, or has seen no input.
        """
        if name is None:
            if layer is None:
                raise AssertionError("get_mask needs the name of a layer or the layer, but got neither")
            name = module_to_fqn(self.model, layer)
            if name is None:
                raise AssertionError(
                    f"layer must be a module of the model, but got another {type(layer).__name__}"
                )
        if name not in self.state:
            raise ValueError(f"the layer {name!r} isn't registered")
        mask = self.state[name].get("mask")
        if mask is None:
            raise ValueError(f"the shape of the mask of {name!r} is unknown: call the layer once before")
        return mask

    def unregister_layer(self, name: str) -> None:
        """Removes the hook of a layer, its settings and its mask.

        Args:
            name: the name of the layer.
        """
        self.data_groups[name]["hook"].remove()
        del self.state[name], self.data_groups[name]

    def step(self) -> None:
        """Computes the masks from the inputs since the last step."""
        with tl_core.no_grad():
            for name, group in self.data_groups.items():
                self.update_mask(name, group["data"], group)
                del group["data"]

    def update_mask(self, name: str, data: Any, configs: dict[str, Any]) -> None:
        """Computes the mask of a layer.

        Args:
            name: its name.
            data: the joined inputs, a tensor or one for each feature.
            configs: its settings.
        """
        masks = self.get_mask(name)
        pairs = [(masks, data)] if configs["features"] is None else zip(masks, data, strict=True)
        for mask, part in pairs:
            mask.data = configs["mask_fn"](configs["reduce_fn"](part), **configs["sparse_config"])

    def _sparsify_hook(self, name: str) -> Callable[..., Tensor]:
        """A hook that multiplies the input of a layer with its mask."""
        masks, group = self.get_mask(name), self.data_groups[name]
        features, dim = group["features"], group["feature_dim"]

        def sparsify(module: Module, inputs: Any) -> Tensor:
            x: Tensor = inputs[0]
            if features is None:
                product: Tensor = x * masks
                return product
            for index, mask in zip(features, masks, strict=True):
                x = x.index_copy(dim, tl_core.tensor([index]), _feature(x, dim, index) * mask)
            return x

        return sparsify

    def squash_mask(self, attach_sparsify_hook: bool = True, **kwargs: Any) -> None:
        """Ends the collection of inputs.

        Args:
            attach_sparsify_hook: whether the inputs of layers are multiplied with the masks from now on.
            **kwargs: of no effect.
        """
        for name, group in self.data_groups.items():
            group.pop("hook").remove()
            group["hook_state"] = "None"
            if attach_sparsify_hook:
                group["hook"] = group["layer"].register_forward_pre_hook(self._sparsify_hook(name))
                group["hook_state"] = "sparsify"

    def state_dict(self) -> dict[str, Any]:
        """The masks as sparse tensors, the settings of the layers and of the sparsifier."""
        groups = {
            name: {key: value for key, value in group.items() if key not in ("hook", "layer")}
            for name, group in self.data_groups.items()
        }
        state = _convert_masks(self.state, lambda mask: mask.to_sparse_coo())
        return {"state": state, "data_groups": groups, "defaults": self.defaults}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes masks and settings, and hooks the layers of this sparsifier's model.

        Args:
            state_dict: from `state_dict`.

        Raises:
            AssertionError: If the model lacks a layer.
        """
        layers: dict[str, Any] = {name: fqn_to_module(self.model, name) for name in state_dict["data_groups"]}
        for name, layer in layers.items():
            if layer is None:
                raise AssertionError(f"layer {name} not found in the model")
        for group in self.data_groups.values():
            if "hook" in group:
                group["hook"].remove()
        self.defaults = state_dict["defaults"]
        self.state = defaultdict(dict, _convert_masks(state_dict["state"], lambda mask: mask.to_dense()))
        self.data_groups = defaultdict(dict)
        for name, group in state_dict["data_groups"].items():
            layer = layers[name]
            self.data_groups[name] = {**group, "layer": layer}
            if group["hook_state"] == "aggregate":
                self.data_groups[name]["hook"] = layer.register_forward_pre_hook(self._aggregate_hook(name))
            elif group["hook_state"] == "sparsify":
                self.data_groups[name]["hook"] = layer.register_forward_pre_hook(self._sparsify_hook(name))

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        hidden = ("data", "hook", *_FUNCTIONS)
        for name, group in self.data_groups.items():
            text += f"\n\tData Group\n\t    name: {name}\n"
            text += "".join(f"\t    {key}: {group[key]}\n" for key in sorted(group) if key not in hidden)
        return text + ")"


def _feature(x: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which stays."""
    return x.index_select(dim, tl_core.tensor([index]))


def _convert_masks(states: Any, convert: Callable[[Tensor], Tensor]) -> Any:
    """Copies of states whose masks a function changes."""
    states = copy.deepcopy(states)
    for state in states.values():
        mask = state["mask"]
        if mask is not None:
            state["mask"] = [convert(part) for part in mask] if isinstance(mask, list) else convert(mask)
    return states
