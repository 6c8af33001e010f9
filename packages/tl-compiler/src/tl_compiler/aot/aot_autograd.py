"""`aot_function`: a function whose forward and backward passes are two graphs, which compilers get before they run."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import tl_autograd
import tl_core
import tl_nn
from tl_core.pytree import TreeSpec, tree_flatten
from tl_nn.func import functional_call

from ..tracer.make_fx import make_fx
from ..tracer.symbolic_fakes import mode_for
from .graph_names import graph_in_compilation, next_function
from .partitioners import default_partition

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module"]

Tensor = tl_core.Tensor
_log = logging.getLogger("torch._functorch")
Compiler = Callable[..., Any]
table_of_region: Mapping[Any, Callable[..., Any]] = {}


class _Settings(NamedTuple):
    fw_compiler: Compiler
    bw_compiler: Compiler
    partition_fn: Callable[..., Any]
    decompositions: dict[Any, Callable[..., Any]]
    inference_compiler: Compiler


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
    disable_functionalization: bool = False,
) -> Callable[..., Any]:
    """A function that runs as two graphs, of its forward and its backward pass. It is traced when it is called first,
    and again for tensors of other sizes or types.

    Args:
        fn: the function, of tensors and containers of them.
        fw_compiler: gets the graph of the forward pass and examples of its inputs, and returns what runs.
        bw_compiler: the same for the backward pass; None: `fw_compiler`.
        partition_fn: parts the joint graph into both.
        decompositions: from operators to functions that take their place.
        num_params_buffers, keep_inference_input_mutations, enable_log, disable_functionalization: accepted.
        inference_compiler: gets the graph where no gradient is recorded; None: `fw_compiler`.
        dynamic: accepted: sizes are numbers.

    Returns:
        The function.

    Example:
        >>> def show(graph, examples):
        ...     print([str(n.target) for n in graph.graph.nodes if n.op == "call_function"])
        ...     return graph
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> aot_function(lambda x: x.sin(), show)(x).sum().backward()
        ['aten.sin.default']
        ['aten.cos.default', 'aten.mul.Tensor']
    """
    settings = _Settings(
        fw_compiler,
        bw_compiler or fw_compiler,
        partition_fn,
        {**(decompositions or {}), **table_of_region},
        inference_compiler or fw_compiler,
    )
    compiled: dict[Any, Any] = {}

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten((args, kwargs))
        key = (tl_core.is_grad_enabled(), repr(spec), *map(_facts, flat))
        if key not in compiled:
            compiled[key] = _Compiled(fn, flat, spec, settings)
        return compiled[key](flat)

    return run


def _facts(x: Any) -> Any:
    """What a graph of an argument rests on: all of it, unless it is a tensor."""
    if not isinstance(x, Tensor):
        return type(x), x
    return x.shape, x.stride(), x.dtype, x.device, x.requires_grad


class _Compiled:
    """The graphs of a function for arguments of one kind."""

    def __init__(self, fn: Callable[..., Any], flat: list[Any], spec: TreeSpec, settings: _Settings) -> None:
        self.fn, self.spec, self.settings = fn, spec, settings
        self.fixed = [None if isinstance(x, Tensor) else x for x in flat]
        self.at = [i for i, x in enumerate(flat) if isinstance(x, Tensor)]
        self.out_spec: TreeSpec | None = None
        self.constants: list[Any] = []  # leaves of the result that are no tensors
        next_function()
        primals = [flat[i] for i in self.at]
        records = tl_core.is_grad_enabled() and any(p.requires_grad for p in primals)
        self._run = self._with_backward(primals) if records else self._inference(primals)

    def __call__(self, flat: list[Any]) -> Any:
        outputs = iter(self._run([flat[i] for i in self.at]))
        assert self.out_spec is not None
        leaves: list[Any] = [next(outputs) if c is _TENSOR else c for c in self.constants]
        return self.out_spec.unflatten(leaves)

    def _results(self, primals: Sequence[Any]) -> list[Any]:
        """The tensors that the function returns."""
        leaves = list(self.fixed)
        for i, t in zip(self.at, primals, strict=True):
            leaves[i] = t
        args, kwargs = self.spec.unflatten(leaves)
        flat, self.out_spec = tree_flatten(self.fn(*args, **kwargs))
        self.constants = [_TENSOR if isinstance(x, Tensor) else x for x in flat]
        return [x for x in flat if isinstance(x, Tensor)]

    def _compile(self, kind: str, compiler: Compiler, graph: Any, examples: list[Any]) -> Callable[..., Any]:
        with graph_in_compilation(kind):
            return _unbox(compiler(graph, examples))

    def _inference(self, primals: list[Any]) -> Callable[..., Any]:
        examples = [p.detach() for p in primals]
        graph = make_fx(self._results, self.settings.decompositions, "fake")(examples)
        _name_inputs(graph, len(primals))
        run = self._compile("inference", self.settings.inference_compiler, graph, examples)
        return lambda inputs: run(*inputs)

    # ---- with gradients
    def _with_backward(self, primals: list[Any]) -> Callable[..., Any]:
        outputs, writes_differentiable_input = self._probe(primals)
        if writes_differentiable_input:
            _log.info("the function writes to an input that has a derivative, so it runs as it is")
            return self._results
        examples = [p.detach().requires_grad_(p.requires_grad) for p in primals]
        differ = [o.requires_grad for o in outputs]
        tangents = [_ones_like(o) for o, d in zip(outputs, differ, strict=True) if d]
        trace = make_fx(functools.partial(self._joint, differ), self.settings.decompositions, "fake")
        try:
            joint = trace(examples, tangents)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            _log.info("the function writes to a value that its backward pass needs, so it runs as it is")
            return self._results
        _name_inputs(joint, len(primals))
        forward, backward = self.settings.partition_fn(
            joint, [*examples, *tangents], num_fwd_outputs=len(outputs)
        )
        run = self._compile("forward", self.settings.fw_compiler, forward, [e.detach() for e in examples])
        return _function(self, run, backward, differ, [p.requires_grad for p in primals])

    def _probe(self, primals: Sequence[Any]) -> tuple[list[Any], bool]:
        """The results on tensors without memory, and whether the function writes to an input that has a derivative."""
        mode = mode_for(())
        with tl_core.enable_grad(), mode:
            leaves = [mode.from_tensor(p, static_shapes=True) for p in primals]
            stands = [t.clone() if p.requires_grad else t for t, p in zip(leaves, primals, strict=True)]
            versions = [t._version for t in stands]
            outputs = self._results(stands)
        writes = [t._version != v for t, v in zip(stands, versions, strict=True)]
        return outputs, any(w and p.requires_grad for w, p in zip(writes, primals, strict=True))

    def _joint(self, differ: list[bool], primals: list[Any], tangents: list[Any]) -> list[Any]:
        with tl_core.enable_grad():
            outputs = self._results(primals)
            leaves = [p for p in primals if p.requires_grad]
            differentiable = [o for o, d in zip(outputs, differ, strict=True) if d]
            gradients = (
                tl_autograd.grad(differentiable, leaves, tangents, allow_unused=True)
                if differentiable
                else [None] * len(leaves)
            )
        return [*outputs, *gradients]

    def backward(self, graph: Any, saved: list[Any], tangents: list[Any]) -> Callable[..., Any]:
        """What runs the backward pass.

        Args:
            graph: its graph.
            saved, tangents: examples of its inputs.
        """
        return self._compile("backward", self.settings.bw_compiler, graph, [*saved, *tangents])


_TENSOR = object()


def _ones_like(fake: Any) -> Any:
    """Ones with the sizes and strides of a tensor without memory."""
    return tl_core.empty_strided(
        tuple(fake.shape), fake.stride(), dtype=fake.dtype, device=fake.device
    ).fill_(1)


def _unbox(compiled: Callable[..., Any]) -> Callable[..., Any]:
    is_boxed = getattr(compiled, "_boxed_call", False)
    call = (lambda *args: compiled(list(args))) if is_boxed else compiled

    def run(*args: Any) -> Any:
        out = call(*args)
        return out if isinstance(out, (list, tuple)) else [out]

    return run


def _name_inputs(graph: Any, primals: int) -> None:
    """Names the inputs of a graph: primals, then tangents."""
    from ..fx.graph import CodeGen

    for i, node in enumerate([n for n in graph.graph.nodes if n.op == "placeholder"]):
        name = f"primals_{i + 1}" if i < primals else f"tangents_{i - primals + 1}"
        node.target = name
        node._rename(name)
    graph.graph.set_codegen(CodeGen())
    graph.recompile()


def _function(
    owner: _Compiled, run: Callable[..., Any], graph: Any, differ: list[bool], needs_gradient: list[bool]
) -> Callable[..., Any]:
    """The forward pass as a function whose derivative is the backward pass."""
    compiled: list[Callable[..., Any]] = []
    count = len(differ)

    class CompiledFunction(tl_autograd.Function):
        @staticmethod
        def forward(ctx: Any, *primals: Any) -> Any:
            results = run(*primals)
            saved = results[count:]
            # A result without a derivative may be the same tensor as one with a derivative.
            outputs = tuple(o if d else o.detach() for o, d in zip(results[:count], differ, strict=True))
            ctx.save_for_backward(*saved)
            ctx.mark_non_differentiable(*(o for o, d in zip(outputs, differ, strict=True) if not d))
            return outputs

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = list(ctx.saved_tensors)
            tangents = [g for g, d in zip(gradients, differ, strict=True) if d]
            if not compiled:
                compiled.append(owner.backward(graph, saved, tangents))
            gradients_of = iter(compiled[0](*saved, *tangents))
            return tuple(next(gradients_of) if w else None for w in needs_gradient)

    return lambda inputs: CompiledFunction.apply(*inputs)


# ---- modules
def aot_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """A module that runs as two graphs, whose inputs are its parameters and buffers, then its arguments.

    Args:
        mod: the module.
        args, kwargs: what `aot_function` takes after the function.

    Returns:
        A module with the given one as its attribute `orig_module`.
    """
    run = aot_function(functools.partial(_call_module, mod), *args, **kwargs)

    class AOTModule(tl_nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
            return run(state, *args, **kwargs)

    return AOTModule()


def _call_module(mod: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    return functional_call(mod, state, args, kwargs)


def aot_module_simplified(
    mod: Any,
    args: Sequence[Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """A graph module as two graphs, for backends of `compile`.

    Args:
        mod: the graph module.
        args: examples of its arguments.
        fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler: as `aot_function` takes them.
        keep_inference_input_mutations, options: accepted.

    Returns:
        A function of the arguments.
    """
    run = aot_function(
        functools.partial(_call_module, mod),
        fw_compiler,
        bw_compiler,
        partition_fn,
        decompositions,
        inference_compiler=inference_compiler,
    )
    state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    return lambda *inputs: run(state, *inputs)


compiled_function, compiled_module = aot_function, aot_module
