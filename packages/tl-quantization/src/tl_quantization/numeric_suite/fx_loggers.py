"""Loggers of graphs: modules that store values and say which node they come from."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import Module

from .measures import compute_sqnr

__all__ = ["OutputComparisonLogger", "OutputLogger"]


class OutputLogger(Module):
    """Stores the tensors that pass, and returns them.

    Args:
        ref_node_name: the node whose input or result is stored.
        prev_node_name: the node that returns it.
        model_name: the name of the model.
        ref_name: the name of the pair of layers.
        prev_node_target_type: the name of the operator that returns it.
        ref_node_target_type: the name of the layer's operator.
        results_type: "node_output" or "node_input".
        index_within_arg: the position within an argument that is a list.
        index_of_arg: the position of the argument.
        fqn: the name of the module in whose call the layer was recorded.
        qconfig_str: the configuration of the layer.

    Example:
        >>> import tl_core
        >>> logger = OutputLogger("fc", "fc", "a", "linear_0", "Linear", "Linear", "node_output", 0, 0, "fc")
        >>> logger(tl_core.ones(1))
        tensor([1.])
        >>> logger.stats
        [tensor([1.])]
    """

    stats: list[Tensor]
    stats_rnn: list[tuple[Tensor, tuple[Tensor, Tensor]]]

    _is_impure = True  # a call without users stays in the graph
    _SCRIPT_SOURCE = """
def forward(self, x: Tensor) -> Tensor:
    if self.enabled and self.save_activations:
        self.stats.append(x.detach())
    return x
"""

    def __init__(
        self,
        ref_node_name: str,
        prev_node_name: str,
        model_name: str,
        ref_name: str,
        prev_node_target_type: str,
        ref_node_target_type: str,
        results_type: str,
        index_within_arg: int,
        index_of_arg: int,
        fqn: str | None,
        qconfig_str: str | None = "",
    ) -> None:
        super().__init__()
        self.stats, self.stats_rnn = [], []
        self.ref_node_name, self.prev_node_name = ref_node_name, prev_node_name
        self.model_name, self.ref_name = model_name, ref_name
        self.prev_node_target_type, self.ref_node_target_type = prev_node_target_type, ref_node_target_type
        self.results_type = results_type
        self.index_within_arg, self.index_of_arg = index_within_arg, index_of_arg
        self.fqn, self.qconfig_str = fqn, qconfig_str
        self.enabled = True
        self.save_activations = True

    def forward(self, x: Any) -> Any:
        """Stores `x`, a tensor or the result of an LSTM, and returns it."""
        if not (self.enabled and self.save_activations):
            return x
        if isinstance(x, Tensor):
            self.stats.append(x.detach())
        elif isinstance(x, tuple) and len(x) == 2 and len(x[1]) == 2:
            self.stats_rnn.append((x[0].detach(), (x[1][0].detach(), x[1][1].detach())))
        return x

    def __repr__(self) -> str:
        values = {k: v for k, v in vars(self).items() if k != "training" and not k.startswith("_")}
        return f"{type(self).__name__}({values})"


class OutputComparisonLogger(OutputLogger):
    """Stores the tensors that pass, and their measures against tensors of reference.

    The arguments are those of `OutputLogger`.

    Example:
        >>> import tl_core
        >>> logger = OutputComparisonLogger("f", "f", "a", "f_0", "Linear", "Linear", "node_output", 0, 0, "f")
        >>> _ = logger(tl_core.tensor([1.1]), tl_core.tensor([1.0]))
        >>> logger.comparison_fn_name, len(logger.comparisons)
        ('sqnr', 1)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.comparison_fn = compute_sqnr
        self.comparison_fn_name = "sqnr"
        self.comparisons: list[Any] = []

    def forward(self, x: Any, x_ref: Any) -> Any:  # type: ignore[override]  # two tensors
        """Stores `x` and its measure against `x_ref`, and returns `x`.

        Args:
            x: the tensor.
            x_ref: the tensor of reference.
        """
        if not self.enabled:
            return x
        if not isinstance(x, Tensor):
            raise AssertionError(f"x must be a tensor, but got {type(x).__name__}")
        if self.save_activations:
            self.stats.append(x.detach())
        self.comparisons.append(self.comparison_fn(x, x_ref))
        return x
