"""A model cut into stages: its graph is exported, and cut where the model or its caller marks it.

A value that a later stage needs goes through all stages between, and so does a parameter that several stages use: the
first of them owns it, and its gradient comes back the same way. Every message is thus one between neighbours.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple

from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_unflatten
from tl_nn import Module, Parameter

from ._utils import PipeInfo
from .stage import _PipelineStage, build_stage

__all__ = ["Pipe", "SplitPoint", "pipe_split", "pipeline"]

_MARK = "pipeline_stage"
_mark_nodes: ContextVar[Callable[[], None] | None] = ContextVar("mark_nodes", default=None)


class SplitPoint(Enum):
    """The side of a submodule on which a model is cut.

    Example:
        >>> SplitPoint.BEGINNING is not SplitPoint.END
        True
    """

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Marks the end of a stage in a model's `forward`. Without `pipeline`, it does nothing.

    Example:
        >>> pipe_split()
    """
    mark = _mark_nodes.get()
    if mark is not None:
        mark()


class _StageModule(Module):
    """The part of a model in one stage. Parameters and buffers have the names that they have in the model.

    Args:
        graph: the graph of the stage.
        run: the function of the graph.
        signature: the inputs of the whole model, on the first stage.
        structure: the structure of the whole model's result, on the last stage.
    """

    def __init__(self, graph: Any, run: Callable[..., Any], signature: _Signature | None, structure: Any):
        super().__init__()
        self.graph, self._run, self._signature, self._structure = graph, run, signature, structure

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._signature is not None:
            args = tuple(self._signature.flatten(args, kwargs))
        outputs = self._run(self, *args)
        if self._structure is not None:
            return tree_unflatten(list(outputs), self._structure)
        return outputs[0] if len(outputs) == 1 else outputs


class _Signature(NamedTuple):
    """The arguments that a model was exported with.

    Args:
        signature: the signature of its `forward`.
        positional: the number of positional arguments.
        names: the names of the others.
        structure: the structure of both.
        label: the name of the model's class.
    """

    signature: inspect.Signature
    positional: int
    names: tuple[str, ...]
    structure: Any
    label: str

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of arguments, in the order of the graph's inputs.

        Args:
            args: the arguments.
            kwargs: the arguments by name.
        """
        bound = self.signature.bind(*args, **kwargs)
        values = dict(bound.arguments)
        star = {p.kind: p.name for p in self.signature.parameters.values() if "VAR" in p.kind.name}
        values.update(values.pop(star.get(inspect.Parameter.VAR_KEYWORD, ""), {}))
        named = {name: values[name] for name in self.names if name in values}
        further = {name for name in list(self.signature.parameters)[self.positional :] if name in values}
        leaves, structure = tree_flatten((bound.args[: self.positional], named))
        if structure != self.structure or not further <= {*self.names, *star.values()}:
            raise TypeError(
                f"{self.label}: the pipeline was cut for {self.positional} positional arguments and the names "
                f"{list(self.names)}, got {len(args)} arguments and {list(kwargs)}"
            )
        return leaves


class Pipe(Module):
    """A model cut into stages. Called, it runs them one after another.

    Args:
        split_gm: the stages in order, as the submodules `submod_0`, `submod_1`, ...
        num_stages: the number of stages.
        has_loss_and_backward: whether the graph computes a loss.
        loss_spec: the loss among the outputs, None without one.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 3), tl_nn.Linear(3, 1))
        >>> pipe = pipeline(model, (tl_core.ones(4, 2),), split_spec={"1": SplitPoint.BEGINNING})
        >>> pipe.num_stages, list(pipe.get_stage_module(1).state_dict())
        (2, ['1.weight', '1.bias'])
        >>> pipe(tl_core.ones(4, 2))[0].shape
        torch.Size([4, 1])
    """

    def __init__(self, split_gm: Any, num_stages: int, has_loss_and_backward: bool, loss_spec: Any):
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.has_loss_and_backward, self.loss_spec = has_loss_and_backward, loss_spec

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        output = self.get_stage_module(0)(*args, **kwargs)
        for number in range(1, self.num_stages):
            output = self.get_stage_module(number)(*output if isinstance(output, tuple) else (output,))
        return output if isinstance(output, tuple) else (output,)

    def get_stage_module(self, stage_idx: int) -> Module:
        """The module of a stage.

        Args:
            stage_idx: the number of the stage.

        Raises:
            ValueError: there is no such stage.
        """
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}, must be from 0 to {self.num_stages - 1}")
        return getattr(self.split_gm, f"submod_{stage_idx}")

    def info(self) -> PipeInfo:
        """The facts that `build_stage` needs."""
        graphs = [self.get_stage_module(number).graph for number in range(self.num_stages)]
        return PipeInfo(graphs, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> _PipelineStage:
        """A stage for a schedule.

        Args:
            stage_index: the number of the stage.
            device: the device of the tensors.
            group: the ranks of the pipeline; the world by default.
        """
        module = self.get_stage_module(stage_index).to(device)
        return build_stage(module, stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Prints the graph of each stage."""
        for number in range(self.num_stages):
            print(f"submod_{number}:\n{self.get_stage_module(number).graph}")


def pipeline(
    module: Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[Any], Any] | None = None,
) -> Pipe:
    """Cuts a model into stages.

    The model is exported with examples of a microbatch, so its `forward` must be one graph. Its cuts are the calls of
    `pipe_split` in it, or the submodules of `split_spec`, or the calls that `split_policy` enters into the graph. The
    stages use the model's own parameters and buffers.

    Args:
        module: the model.
        mb_args: the arguments of a microbatch.
        mb_kwargs: the arguments of a microbatch by name.
        split_spec: for the name of a submodule, the side on which the model is cut.
        split_policy: takes the exported graph module and enters calls of `pipe_split`.

    Returns:
        The stages.

    Raises:
        ValueError: both a spec and a policy are there.
        AttributeError: the model has no submodule of a name.
        RuntimeError: a value between stages is no tensor, or a stage changes a buffer of another one.
        ModuleNotFoundError: tl-compiler is not installed.

    Example:
        >>> import tl_core, tl_nn
        >>> class Model(tl_nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.one, self.two = tl_nn.Linear(2, 2), tl_nn.Linear(2, 2)
        ...     def forward(self, x):
        ...         x = self.one(x)
        ...         pipe_split()
        ...         return self.two(x)
        >>> pipeline(Model(), (tl_core.ones(1, 2),)).num_stages
        2
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    kwargs = mb_kwargs or {}
    try:
        export = import_module("tl_compiler.export")
    except ModuleNotFoundError as error:
        if error.name != "tl_compiler":
            raise
        raise ModuleNotFoundError(
            "pipeline() exports the model with tl-compiler, which is not installed: "
            "pip install 'tl-distributed[graph]'",
            name=error.name,
        ) from error
    with _split_points(module, split_spec or {}):
        program = export.export(module, tuple(mb_args), kwargs, strict=False)
    traced = program.module()
    _insert_splits(traced.graph)
    if split_policy is not None:
        traced = split_policy(traced)
    specs = program.call_spec
    signature = _Signature(
        inspect.signature(module.forward), len(mb_args), tuple(kwargs), specs.in_spec, type(module).__name__
    )
    return _Cut(module, traced, signature, specs.out_spec).pipe()


@contextmanager
def _split_points(module: Module, split_spec: Mapping[str, SplitPoint]) -> Iterator[None]:
    """Lets `pipe_split` and the submodules of a spec mark the nodes of the graph that is being traced."""
    current_mode = import_module("tl_compiler.tracer.proxy_mode").current_mode
    count = 0

    def mark() -> None:
        nonlocal count
        mode = current_mode()
        if mode is not None:
            for node in mode.tracer.graph.nodes:
                node.meta.setdefault(_MARK, count)
            count += 1

    handles = []
    for name, point in split_spec.items():
        submodule = module.get_submodule(name)
        if point is SplitPoint.BEGINNING:
            handles.append(submodule.register_forward_pre_hook(lambda *_: mark()))
        elif point is SplitPoint.END:
            handles.append(submodule.register_forward_hook(lambda *_: mark()))
        else:
            raise ValueError(f"split_spec[{name!r}] must be a SplitPoint, got {point!r}")
    token = _mark_nodes.set(mark)
    try:
        yield
    finally:
        _mark_nodes.reset(token)
        for handle in handles:
            handle.remove()


def _insert_splits(graph: Any) -> None:
    """Enters a call of `pipe_split` where the mark of nodes changes."""
    stage = 0
    nodes = [node for node in graph.nodes if node.op not in ("placeholder", "get_attr")]
    last = max((node.meta[_MARK] for node in nodes if _MARK in node.meta), default=-1) + 1
    for node in nodes:
        # Export may add nodes without a mark; they belong to the stage of what comes before. After the last cut, no
        # node has a mark.
        is_marked = _MARK in node.meta
        here = node.meta[_MARK] if is_marked else (last if _is_after(node, nodes) else stage)
        with graph.inserting_before(node):
            for _ in range(here - stage):
                graph.call_function(pipe_split)
        stage = max(stage, here)


def _is_after(node: Any, nodes: Sequence[Any]) -> bool:
    """Whether no node from here on has a mark."""
    return not any(_MARK in later.meta for later in nodes[nodes.index(node) :])


class _Cut:
    """The nodes of a graph by stage, and the values between them.

    Args:
        module: the model.
        traced: its exported graph module, with calls of `pipe_split`.
        signature: the inputs of the model.
        structure: the structure of its result.
    """

    def __init__(self, module: Module, traced: Any, signature: _Signature, structure: Any):
        self._module, self._traced = module, traced
        self._signature, self._structure = signature, structure
        self._stage_of: dict[Any, int] = {}
        self._nodes: list[list[Any]] = [[]]
        self._assign()
        self._count = len(self._nodes)
        self._last_use = self._uses()

    def _assign(self) -> None:
        """The stage of each node; attributes belong to the first stage that uses them."""
        for node in self._traced.graph.nodes:
            if node.op == "call_function" and node.target is pipe_split:
                self._nodes.append([])
            elif node.op == "placeholder":
                self._stage_of[node] = 0
            elif node.op not in ("get_attr", "output"):
                # The elements of a tuple belong to the call that returns it: tensors alone go to another stage.
                is_item = node.target is operator.getitem and node.args[0] in self._stage_of
                stage = self._stage_of[node.args[0]] if is_item else len(self._nodes) - 1
                self._stage_of[node] = stage
                self._nodes[stage].append(node)

    def _uses(self) -> dict[Any, int]:
        """The last stage that uses a value."""
        last: dict[Any, int] = {}
        for node in self._traced.graph.nodes:
            stage = self._count - 1 if node.op == "output" else self._stage_of.get(node)
            if stage is None or (node.op == "call_function" and node.target is pipe_split):
                continue
            for source in node.all_input_nodes:
                if source.op == "get_attr":
                    self._stage_of[source] = min(self._stage_of.get(source, stage), stage)
                last[source] = max(last.get(source, stage), stage)
        return last

    def _attribute(self, name: str) -> Any:
        value: Any = self._traced
        for part in name.split("."):
            value = getattr(value, part)
        return value

    def _copies(self, node: Any) -> bool:
        """Whether each stage has an attribute of its own: a buffer or a constant, which gets no gradient."""
        return node.op == "get_attr" and not isinstance(self._attribute(node.target), Parameter)

    def _passing(self, stage: int) -> list[Any]:
        """The values that go from a stage to the next one."""
        values = [
            node
            for node in self._traced.graph.nodes
            if node in self._last_use
            and self._stage_of[node] <= stage < self._last_use[node]
            and not self._copies(node)
        ]
        for node in values:
            value = node.meta.get("val")
            if value is not None and not isinstance(value, Tensor):
                raise RuntimeError(
                    f"stage {stage} must send {node.name} to stage {stage + 1}, but only tensors go there, got "
                    f"{type(value).__name__}"
                )
        return values

    def pipe(self) -> Pipe:
        """The stages."""
        self._check_buffers()
        stages = Module()
        for stage in range(self._count):
            stages.add_module(f"submod_{stage}", self._stage(stage))
        return Pipe(stages, self._count, has_loss_and_backward=False, loss_spec=None)

    def _check_buffers(self) -> None:
        for node in self._traced.graph.nodes:
            if node.op != "get_attr" or not self._copies(node):
                continue
            users = [user for user in node.users if user in self._stage_of]
            changed = any(str(user.target).partition(".")[2].startswith(("add_", "copy_")) for user in users)
            if changed and len({self._stage_of[user] for user in users}) > 1:
                raise RuntimeError(
                    f"the buffer {node.target} is changed in one stage and used in another; cut the model elsewhere"
                )

    def _stage(self, stage: int) -> _StageModule:
        """The module of a stage."""
        fx = import_module("tl_compiler.fx")
        graph, copies = fx.Graph(), {}
        before = (
            [node for node in self._traced.graph.nodes if node.op == "placeholder"]
            if stage == 0
            else self._passing(stage - 1)
        )
        for node in before:
            copies[node] = graph.placeholder(node.name)
        attributes = []

        def copy_of(node: Any) -> Any:
            if node not in copies:
                attributes.append(node.target)
                copies[node] = graph.node_copy(node)  # an attribute; other values are there
            return copies[node]

        for node in self._nodes[stage]:
            copies[node] = graph.node_copy(node, copy_of)
        is_last = stage == self._count - 1
        output = next(node for node in self._traced.graph.nodes if node.op == "output")
        results = output.args[0] if is_last else self._passing(stage)
        graph.output(tuple(copy_of(node) if hasattr(node, "op") else node for node in results))
        run = type(fx.GraphModule(self._traced, graph)).forward
        signature = self._signature if stage == 0 else None
        module = _StageModule(graph, run, signature, self._structure if is_last else None)
        for name in attributes:
            _register(module, name, self._attribute(name), self._is_persistent(name))
        module.train(self._module.training)
        return module

    def _is_persistent(self, name: str) -> bool:
        """Whether a buffer is a part of the model's state dict; constants of the graph are none."""
        owner, _, last = name.rpartition(".")
        try:
            module = self._module.get_submodule(owner)
        except AttributeError:  # a constant that the export adds has no module
            return False
        return last in module._buffers and last not in module._non_persistent_buffers_set


def _register(module: Module, name: str, value: Any, is_persistent: bool) -> None:
    """Enters a parameter or a buffer under a name with dots."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, Module())
        module = module._modules[part]
    if isinstance(value, Parameter):
        module.register_parameter(last, value)
    elif isinstance(value, Tensor):
        module.register_buffer(last, value, persistent=is_persistent)
    else:
        setattr(module, last, value)
