"""Exported models in training and in evaluation: their graphs have one mode, which a pass exchanges."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from tl_compiler.fx import GraphModule
from tl_core.operators import packets

from .graph_facts import is_call

__all__ = [
    "allow_exported_model_train_eval",
    "move_exported_model_to_eval",
    "move_exported_model_to_train",
    "refuse_train_eval",
]

_TRAINING = "_exported_training"


def _dropouts() -> dict[Any, int]:
    aten = packets.aten
    table = {aten.dropout.default: 2, aten.dropout_.default: 2}
    for name in ("feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
        if hasattr(aten, name):
            table[getattr(aten, name).default] = 2
    return table


def _set_mode(model: GraphModule, is_training: bool) -> GraphModule:
    positions = {**_dropouts(), packets.aten.batch_norm.default: 5}
    for node in list(model.graph.nodes):
        if not is_call(node, positions):
            continue
        index = positions[node.target]
        if len(node.args) > index:
            node.update_arg(index, is_training)
        else:
            node.update_kwarg("training" if index == 5 else "train", is_training)
    _count_batches(model, is_training)
    model.graph.eliminate_dead_code()
    model.recompile()
    setattr(model, _TRAINING, is_training)
    return model


def _count_batches(model: GraphModule, is_training: bool) -> None:
    """Evaluation counts no batches: the additions to `num_batches_tracked` disappear."""
    aten = packets.aten
    if is_training:
        return
    for node in list(model.graph.nodes):
        if not is_call(node, (aten.add_.Tensor,)) or node.users:
            continue
        source = node.args[0]
        if getattr(source, "op", "") == "get_attr" and str(source.target).endswith("num_batches_tracked"):
            model.graph.erase_node(node)


def move_exported_model_to_eval(model: GraphModule) -> GraphModule:
    """An exported model in evaluation, in place: dropout passes numbers, batch normalization uses running statistics.

    Args:
        model: a model of `export_for_training(...).module()`, or one that `prepare_pt2e` or `convert_pt2e` returned.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> from tl_compiler.export import export_for_training
        >>> model = export_for_training(nn.Dropout(0.5).train(), (tl_core.ones(3),)).module()
        >>> move_exported_model_to_eval(model)(tl_core.ones(3))
        tensor([1., 1., 1.])
    """
    return _set_mode(model, False)


def move_exported_model_to_train(model: GraphModule) -> GraphModule:
    """An exported model in training, in place. The opposite of `move_exported_model_to_eval`.

    Args:
        model: an exported model.
    """
    return _set_mode(model, True)


def allow_exported_model_train_eval(model: GraphModule) -> GraphModule:
    """Lets `model.train()` and `model.eval()` exchange the mode of an exported model's graph.

    Only dropout and batch normalization change. Other code that depends on the mode keeps the mode of the export.

    Args:
        model: an exported model.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> from tl_compiler.export import export_for_training
        >>> model = export_for_training(nn.Dropout(0.5).train(), (tl_core.ones(3),)).module()
        >>> allow_exported_model_train_eval(model).eval()(tl_core.ones(3))
        tensor([1., 1., 1.])
    """

    def train(self: Any, mode: bool = True) -> Any:
        if getattr(self, _TRAINING, None) is not bool(mode):
            _set_mode(self, bool(mode))
        return self

    return _replace_train(model, train)


def refuse_train_eval(model: GraphModule) -> GraphModule:
    """Lets `model.train()` and `model.eval()` raise an error that names the functions for exported models.

    Args:
        model: an exported model.
    """

    def train(self: Any, mode: bool = True) -> Any:
        raise NotImplementedError("Calling train() or eval() is not supported yet.")

    return _replace_train(model, train)


def _replace_train(model: GraphModule, train: Callable[[Any, bool], Any]) -> GraphModule:
    """Sets `train` of one model, and `eval` by it."""
    model.train = MethodType(train, model)  # type: ignore[method-assign]  # of this model, not of its class
    model.eval = MethodType(lambda self: train(self, False), model)  # type: ignore[method-assign]  # likewise
    return model
