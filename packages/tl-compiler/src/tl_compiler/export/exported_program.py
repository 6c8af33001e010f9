"""An exported program: a graph of operators, the tensors that it holds, and what its inputs and outputs are."""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_core.base.operator_hooks import maker
from tl_core.pytree import TreeSpec, tree_flatten

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from .graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "CustomObjArgument",
    "ExportGraphSignature",
    "ExportedProgram",
    "InputKind",
    "InputSpec",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "default_decompositions",
]


class CallSpec(NamedTuple):
    """The structures of the arguments and of the result."""

    in_spec: TreeSpec | None
    out_spec: TreeSpec | None


@dataclasses.dataclass
class ModuleCallSignature:
    """How a submodule is called.

    Args:
        inputs, outputs: its flat inputs and outputs.
        in_spec, out_spec: their structures.
        forward_arg_names: the names of the arguments of its forward.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export
        >>> model = tl_nn.Sequential(tl_nn.ReLU())
        >>> program = export(model, (tl_core.ones(2),), preserve_module_call_signature=("0",))
        >>> [argument.name for argument in program.module_call_graph[1].signature.inputs]
        ['input_1']
    """

    inputs: list[ArgumentSpec]
    outputs: list[ArgumentSpec]
    in_spec: TreeSpec
    out_spec: TreeSpec
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node: Any, new_node: Any) -> None:
        """Renames a node.

        Args:
            original_node: the node.
            new_node: what takes its place.
        """
        for arg in (*self.inputs, *self.outputs):
            if arg.name == original_node.name:
                arg.name = new_node.name


@dataclasses.dataclass
class ModuleCallEntry:
    """A submodule, and how it is called where that is kept.

    Args:
        fqn: its dotted name.
        signature: how it is called.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export
        >>> program = export(tl_nn.Sequential(tl_nn.ReLU()), (tl_core.ones(2),))
        >>> [entry.fqn for entry in program.module_call_graph]
        ['', '0']
    """

    fqn: str
    signature: ModuleCallSignature | None = None


def default_decompositions() -> Any:
    """The decompositions to the core operators, a table that can be changed.

    Returns:
        From operators to functions.

    Example:
        >>> len(default_decompositions()) > 100
        True
    """
    from .decomp_utils import CustomDecompTable

    return CustomDecompTable()


class ExportedProgram:
    """What `export` makes: a graph without Python in it, its parameters and buffers, and its signature.

    Args:
        root: a module or a dictionary of what the graph's get_attr nodes name.
        graph: the graph.
        graph_signature: what its inputs and outputs are.
        state_dict: parameters and buffers by name.
        range_constraints: the ranges of the symbols of its sizes.
        module_call_graph: the submodules of the program that it was made from.
        example_inputs: the inputs that it was traced with.
        constants: the tensors and objects that it holds besides, by name.
        verifiers: what checks it.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export
        >>> class Double(tl_nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...
        >>> program = export(Double(), (tl_core.ones(2),))
        >>> program.module()(tl_core.tensor([1.0, 5.0]))
        tensor([ 2., 10.])
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[Any, Any],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        constants: dict[str, Any] | None = None,
        *,
        verifiers: list[Any] | None = None,
    ) -> None:
        from .verifier import TrainingIRVerifier

        self._graph_module = (
            root if isinstance(root, GraphModule) and root.graph is graph else _module(root, graph)
        )
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._range_constraints = range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._constants = constants or {}
        self._verifiers = verifiers or [TrainingIRVerifier]
        self._guards_code: list[str] = []
        self.validate()

    # ---- what it holds
    @property
    def graph_module(self) -> Any:
        """The module of the graph; its parameters are inputs."""
        return self._graph_module

    @graph_module.setter
    def graph_module(self, value: Any) -> None:
        raise RuntimeError("Unable to set ExportedProgram's graph_module attribute.")

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @graph.setter
    def graph(self, value: Any) -> None:
        raise RuntimeError("Unable to set ExportedProgram's graph attribute.")

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the inputs and outputs of the graph are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """The parameters and buffers by name."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """The tensors and objects that it holds besides, by name."""
        return self._constants

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """The same as `constants`."""
        return self._constants

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """The ranges of the symbols of its sizes."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The submodules of the program that it was made from."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> Any:
        """The inputs that it was traced with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, tuple) or len(value) != 2:
                raise ValueError(
                    "Example inputs should be a tuple containing example arguments (as a tuple), and example "
                    "kwargs (as a dictionary)."
                )
            args, kwargs = value
            if not isinstance(args, tuple) or not isinstance(kwargs, dict):
                raise ValueError(
                    f"example inputs are a tuple of a tuple and a dictionary, got {type(args)} and {type(kwargs)}"
                )
            value = self._checked_inputs(args, kwargs)
        self._example_inputs = value

    def _checked_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Example inputs in the order in which the program takes them."""
        spec = self.call_spec.in_spec
        if spec is None:
            return args, kwargs
        order = list(spec.children_specs[1].context)
        if set(order) != set(kwargs):
            raise ValueError(
                f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {order}"
            )
        kwargs = {name: kwargs[name] for name in order}
        actual = tree_flatten((args, kwargs))[1]
        if actual != spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{spec}\nbut actually got inputs "
                f"with tree spec of: \n{actual}."
            )
        return args, kwargs

    @property
    def call_spec(self) -> CallSpec:
        """The structures of the arguments and of the result."""
        signature = self.module_call_graph[0].signature if self.module_call_graph else None
        return CallSpec(signature.in_spec, signature.out_spec) if signature else CallSpec(None, None)

    @property
    def verifier(self) -> Any:
        """What checks it."""
        return self._verifiers[0]

    @property
    def verifiers(self) -> list[Any]:
        """What checks it."""
        return self._verifiers

    @property
    def dialect(self) -> str:
        """Which operators it may hold: `TRAINING` or `ATEN`."""
        return str(self._verifiers[0].dialect)

    def parameters(self) -> Iterator[Any]:
        """The parameters of the program.

        Yields:
            Each parameter.
        """
        for _, p in self.named_parameters():
            yield p

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters of the program with their names.

        Yields:
            Pairs of name and parameter.
        """
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self) -> Iterator[Any]:
        """The buffers of the program.

        Yields:
            Each buffer.
        """
        for _, b in self.named_buffers():
            yield b

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """The buffers of the program with their names.

        Yields:
            Pairs of name and buffer.
        """
        absent = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, self.constants[name] if name in absent else self.state_dict[name]

    @property
    def _num_lifted_params_buffers(self) -> int:
        return next(
            (i for i, s in enumerate(self.graph_signature.input_specs) if s.kind is InputKind.USER_INPUT),
            len(self.graph_signature.input_specs),
        )

    # ---- running
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def module(self, check_guards: bool = True) -> Any:
        """A module that runs the program, with its parameters and buffers.

        Args:
            check_guards: whether sizes of inputs are checked.

        Returns:
            A graph module that is called as the original was.
        """
        from .unlift import unlift

        module = unlift(self, check_guards)

        def refuse(mode: bool = True) -> Any:
            raise NotImplementedError("Calling train() is not supported yet.")

        def refuse_eval(mode: bool = True) -> Any:
            raise NotImplementedError("Calling eval() is not supported yet.")

        object.__setattr__(module, "train", refuse)
        object.__setattr__(module, "eval", refuse_eval)
        return module

    def run_decompositions(
        self,
        decomp_table: dict[Any, Callable[..., Any]] | None = None,
        decompose_custom_triton_ops: bool = False,
    ) -> ExportedProgram:
        """The program in other operators, and without writes to its inputs: new values of buffers are outputs.

        Args:
            decomp_table: from operators to functions that take their place; None: to the core operators.
            decompose_custom_triton_ops: accepted: there are none.

        Returns:
            The program.
        """
        program: ExportedProgram = maker("decompose")(self, decomp_table)
        return program

    def _transform_do_not_use(self, *passes: Callable[[Any], Any]) -> ExportedProgram:
        """The program with graph passes applied."""
        from .passes.pass_base import apply_passes

        return apply_passes(self, passes)

    def _check_input_constraints(self, flat_args_with_path: list[Any]) -> None:
        from .unlift import check_inputs

        check_inputs(self, [a for _, a in flat_args_with_path], [str(p) for p, _ in flat_args_with_path])

    def validate(self) -> None:
        """Raises if the program is not well formed."""
        self._validate()

    def _validate(self) -> None:
        for verifier in self.verifiers:
            verifier().check(self)

    def _update(
        self,
        graph_module: Any,
        graph_signature: Any,
        *,
        state_dict: Any = None,
        constants: Any = None,
        verifiers: Any = None,
    ) -> ExportedProgram:
        graph_signature = _rename_outputs(graph_signature, _join_items(graph_module.graph))
        return ExportedProgram(
            root=graph_module,
            graph=graph_module.graph,
            graph_signature=graph_signature,
            state_dict=self.state_dict if state_dict is None else state_dict,
            range_constraints=copy.deepcopy(self.range_constraints),
            module_call_graph=copy.deepcopy(self._module_call_graph),
            example_inputs=self.example_inputs,
            constants=self.constants if constants is None else constants,
            verifiers=self.verifiers if verifiers is None else verifiers,
        )

    def __str__(self) -> str:
        body = (
            self.graph_module.print_readable(print_output=False, colored=False)
            .rstrip("\n")
            .replace("\n", "\n    ")
        )
        return (
            f"ExportedProgram:\n    {body}\nGraph signature: {self.graph_signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )


def _rename_outputs(signature: ExportGraphSignature, names: dict[str, str]) -> ExportGraphSignature:
    """A signature in which nodes have other names."""
    if not any(getattr(s.arg, "name", None) in names for s in signature.output_specs):
        return signature
    result = copy.deepcopy(signature)
    for spec in result.output_specs:
        if spec.arg.name in names:
            spec.arg = dataclasses.replace(spec.arg, name=names[spec.arg.name])
    return result


def _join_items(graph: Graph) -> dict[str, str]:
    """Lets one node stand for each element of a result of several; returns the names of those it stands for."""
    names: dict[str, str] = {}
    items: dict[Any, Any] = {}
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is operator.getitem:
            first = items.setdefault(node.args, node)
            if first is not node:
                node.replace_all_uses_with(first)
                graph.erase_node(node)
                names[node.name] = first.name
    return names


def _module(root: Any, graph: Graph) -> GraphModule:
    module = GraphModule(
        root if not isinstance(root, GraphModule) else _attributes(root), graph, "GraphModule"
    )
    module.meta.update(getattr(root, "meta", {}) if isinstance(root, GraphModule) else {})
    return module


def _attributes(root: GraphModule) -> Any:
    holder = tl_nn.Module()
    for name, child in root.named_children():
        holder.add_module(name, child)
    for name, value in root.__dict__.items():
        if isinstance(value, tl_core.Tensor):
            setattr(holder, name, value)
    return holder
