"""Names of PyTorch's code generator for graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tl_compiler.aot.aot_autograd import aot_module_simplified
from tl_compiler.aot.partitioners import default_partition
from tl_compiler.compiler.backends import lookup_backend
from tl_compiler.fx import GraphModule, Node

from . import config
from .decomposition import select_decomp_table

__all__ = ["compile_fx", "graph_returns_tuple", "split_const_gm"]


def graph_returns_tuple(gm: Any) -> bool:
    """Whether a graph gives a tuple or list, or the several results of one operator; True of what is no graph module.

    Args:
        gm: the graph module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph_returns_tuple(symbolic_trace(lambda x: x)), graph_returns_tuple(symbolic_trace(lambda x: (x,)))
        (False, True)
    """
    if not isinstance(gm, GraphModule):
        return True
    (value,) = gm.graph.output_node().args
    if isinstance(value, tuple | list):
        return True
    schema = getattr(value.target, "_schema", None) if isinstance(value, Node) else None
    return schema is not None and len(schema.returns) > 1


def compile_fx(
    model_: Any,
    example_inputs_: Any,
    inner_compile: Callable[..., Any] | None = None,
    config_patches: dict[str, Any] | None = None,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
) -> Any:
    """What runs a graph, as a backend of `torch.compile`.

    Args:
        model_: the graph module, with one flat list of inputs.
        example_inputs_: examples of its inputs.
        inner_compile: a compiler of the graphs of the forward and the backward pass; None: the backend "inductor".
        config_patches: settings by their names in `torch._inductor.config`. Custom passes are run.
        decompositions: with `inner_compile`: from operators to functions that take their place.

    Returns:
        A function of the inputs.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> def show(graph, examples):
        ...     print([str(n.target) for n in graph.graph.nodes if n.op == "call_function"])
        ...     return graph
        >>> run = compile_fx(symbolic_trace(lambda x: (x + 1,)), [tl_core.ones(2)], show)
        >>> run(tl_core.ones(2))
        ['aten.add.Tensor']
        (tensor([2., 2.]),)
    """
    inputs = list(example_inputs_)
    settings: Any = config
    with settings.patch(config_patches or {}):
        if settings._has_custom_pass():
            return _with_passes(model_, inputs, inner_compile, decompositions)
        if inner_compile is None:
            return lookup_backend("inductor")(model_, inputs)
    return aot_module_simplified(model_, inputs, fw_compiler=inner_compile, decompositions=decompositions)


def _with_passes(
    module: Any,
    inputs: list[Any],
    inner_compile: Callable[..., Any] | None,
    decompositions: Mapping[Any, Callable[..., Any]] | None,
) -> Callable[..., Any]:
    """What runs a graph after the passes that are set now."""
    from .fx_passes.joint_graph import joint_graph_passes
    from .fx_passes.post_grad import post_grad_passes

    settings: Any = config
    now = {name: getattr(settings, name) for name in settings._PASSES}

    def compile_graph(graph: GraphModule, examples: list[Any], is_inference: bool = False) -> Any:
        with settings.patch(now):
            post_grad_passes(graph, is_inference)
        return graph.forward if inner_compile is None else inner_compile(graph, examples)

    def compile_inference(graph: GraphModule, examples: list[Any]) -> Any:
        with settings.patch(now):
            joint_graph_passes(graph)
        return compile_graph(graph, examples, is_inference=True)

    def partition(joint: GraphModule, examples: Any, **options: Any) -> Any:
        with settings.patch(now):
            joint_graph_passes(joint)
        return default_partition(joint, examples, **options)

    if settings.pre_grad_custom_pass is not None:
        settings.pre_grad_custom_pass(module.graph)
        module.recompile()
    return aot_module_simplified(
        module,
        inputs,
        fw_compiler=compile_graph,
        inference_compiler=compile_inference,
        partition_fn=partition,
        decompositions=select_decomp_table() if decompositions is None else decompositions,
    )


def split_const_gm(gm: Any, *args: Any, **kwargs: Any) -> Any:
    """Separates what does not depend on the inputs of a graph.

    Args:
        gm: the graph module.
        args, kwargs: accepted.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "split_const_gm(): fx.experimental.const_fold separates what does not depend on inputs"
    )
