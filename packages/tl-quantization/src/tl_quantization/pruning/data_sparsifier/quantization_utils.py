"""Embeddings with zeros and integers."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_nn import Module

from ...functions import quantize_per_channel
from ...qconfig import float_qparams_weight_only_qconfig
from ...quantize import convert, prepare
from ..sparsifier.utils import fqn_to_module, module_to_fqn

__all__ = ["post_training_sparse_quantize"]

SUPPORTED_MODULES: set[Any] = {nn.Embedding, nn.EmbeddingBag}


def _fetch_all_embeddings(model: Module) -> list[tuple[str | None, Module]]:
    """The embeddings of a model with their names."""
    result: list[tuple[str | None, Module]] = []
    stack = [model]
    while stack:
        for child in stack.pop().children():
            if type(child) in SUPPORTED_MODULES:
                result.append((module_to_fqn(model, child), child))
            else:
                stack.append(child)
    return result


def _select(model: Module, selection: Any) -> list[tuple[str | None, Module]]:
    """Some embeddings with their names."""
    if not isinstance(selection, list):
        raise AssertionError(
            f"select_embeddings must be a list of embedding modules, but got {type(selection).__name__}"
        )
    result: list[tuple[str | None, Module]] = []
    for layer in selection:
        name = module_to_fqn(model, layer) if type(layer) in SUPPORTED_MODULES else None
        if name is None:
            raise AssertionError(
                "select_embeddings must have Embedding and EmbeddingBag modules of the model, but got "
                f"{type(layer).__name__}"
            )
        result.append((name, layer))
    return result


def _quantize(model: Module, embeddings: list[tuple[str | None, Module]]) -> None:
    for _, layer in embeddings:
        layer.qconfig = float_qparams_weight_only_qconfig
    prepare(model, inplace=True)
    convert(model, inplace=True)


def post_training_sparse_quantize(
    model: Module,
    data_sparsifier_class: Any,
    sparsify_first: bool = True,
    select_embeddings: list[nn.Module] | None = None,
    **sparse_config: Any,
) -> None:
    """Sparsifies and quantizes the embeddings of a model in place.

    Args:
        model: the model.
        data_sparsifier_class: the class of the sparsifier.
        sparsify_first: whether the zeros are chosen before the rounding. If False, they are chosen from the rounded
            weights, and the scales stay those of the weights without zeros.
        select_embeddings: the embeddings, by default all.
        **sparse_config: arguments of the sparsifier.

    Raises:
        AssertionError: If `select_embeddings` is no list of embeddings of the model.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.pruning.data_sparsifier import DataNormSparsifier
        >>> model = tl_nn.Sequential(tl_nn.EmbeddingBag(8, 4))
        >>> post_training_sparse_quantize(model, DataNormSparsifier, sparsity_level=0.5)
        >>> float((model[0].weight().dequantize() == 0).float().mean())
        0.5
    """
    sparsifier = data_sparsifier_class(**sparse_config)
    embeddings = (
        _fetch_all_embeddings(model) if select_embeddings is None else _select(model, select_embeddings)
    )
    if sparsify_first:
        for name, layer in embeddings:
            sparsifier.add_data(name=_flat(name), data=layer)
        sparsifier.step()
        sparsifier.squash_mask()
        _quantize(model, embeddings)
        return
    _quantize(model, embeddings)
    layers: dict[str, Any] = {str(name): fqn_to_module(model, str(name)) for name, _ in embeddings}
    rounded = {name: layer.weight() for name, layer in layers.items()}
    values = {name: weight.dequantize() for name, weight in rounded.items()}
    for name in layers:
        sparsifier.add_data(name=_flat(name), data=values[name])
    sparsifier.step()
    sparsifier.squash_mask()
    for name, layer in layers.items():
        weight = rounded[name]
        layer.set_weight(
            quantize_per_channel(
                sparsifier.get_data(_flat(name), return_original=False),
                weight.q_per_channel_scales(),
                weight.q_per_channel_zero_points(),
                axis=weight.q_per_channel_axis(),
                dtype=weight.dtype,
            )
        )


def _flat(name: str | None) -> str:
    """A name without dots."""
    return str(name).replace(".", "_")
