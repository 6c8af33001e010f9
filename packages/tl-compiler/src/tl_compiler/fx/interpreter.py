"""Running a graph node by node, and making a graph from another one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from . import traceback as fx_traceback
from .code_generation import last_uses
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import GraphAppendingTracer, Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the nodes of a graph one after the other; subclasses look at values or compute others.

    Args:
        module: the module whose graph runs.
        garbage_collect_values: whether values are dropped after their last use.
        graph: the graph, where it is not the module's.

    Example:
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> Interpreter(symbolic_trace(lambda x: x + 1)).run(tl_core.tensor(1.0))
        tensor(2.)
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = (
            last_uses(self.graph) if garbage_collect_values else {}
        )

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """Runs the graph.

        Args:
            args: its inputs, in order.
            initial_env: values of nodes that are not run.
            enable_io_processing: whether inputs and outputs go through the graph's code generator.

        Returns:
            What its output node returns.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(
                        f"While executing {node.format_node()}"
                        + (f"\nOriginal traceback:\n{node.stack_trace}" if node.stack_trace else "")
                    )
                raise
            for used in self.user_to_last_uses.get(node, []):
                self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As `run`, with the inputs in a list that is emptied, so that they can be freed early.

        Args:
            args_list: the inputs.

        Returns:
            What the output node returns.
        """
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        env = dict(zip(inputs, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """Runs one node.

        Args:
            n: the node.

        Returns:
            Its value.
        """
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if not fx_traceback.should_preserve_node_meta:
            return getattr(self, n.op)(n.target, args, kwargs)
        with fx_traceback.set_current_meta(n, "Interpreter"):
            return getattr(self, n.op)(n.target, args, kwargs)

    # ---- a method a kind of node
    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next input; with a star, all that are left.

        Args:
            target: the argument's name.
            args: its default.
            kwargs: nothing.

        Returns:
            The value.

        Raises:
            RuntimeError: there is neither an input nor a default.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module.

        Args:
            target: its dotted path.
            args, kwargs: nothing.

        Returns:
            The value.
        """
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function.

        Args:
            target: the function.
            args, kwargs: the arguments.

        Returns:
            Its result.
        """
        return target(*args, **kwargs)  # type: ignore[operator]

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a method of the first argument.

        Args:
            target: the method's name.
            args, kwargs: the arguments.

        Returns:
            Its result.
        """
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a submodule.

        Args:
            target: its dotted path.
            args, kwargs: the arguments.

        Returns:
            Its result.
        """
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the graph.

        Args:
            target: nothing.
            args: the result.
            kwargs: nothing.

        Returns:
            The result.
        """
        return args[0]

    # ---- help for them
    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its dotted path.

        Args:
            target: the path.

        Returns:
            The value.

        Raises:
            RuntimeError: there is none.
        """
        value = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node with values for nodes.

        Args:
            n: the node.

        Returns:
            args and kwargs.
        """
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """A structure with values for nodes.

        Args:
            args: the structure.
            n: the node whose arguments it is.

        Returns:
            The structure with values.

        Raises:
            RuntimeError: a node has no value yet.
        """

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)


class Transformer(Interpreter):
    """Makes a graph from another one: its methods return proxies, and what is done with them is the new graph.

    Args:
        module: the module whose graph is transformed.

    Example:
        >>> import operator
        >>> from tl_compiler.fx import symbolic_trace
        >>> class Swapped(Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         return super().call_function(operator.sub if target is operator.add else target, args, kwargs)
        >>> Swapped(symbolic_trace(lambda x, y: x + y)).transform()(5, 3)
        2
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=getattr(self.graph, "_tracer_cls", None))
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A proxy for an input.

        Args:
            target: the argument's name.
            args: its default.
            kwargs: nothing.

        Returns:
            The proxy.
        """
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A proxy for an attribute.

        Args:
            target: its dotted path.
            args, kwargs: nothing.

        Returns:
            The proxy.
        """
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records the call of a submodule.

        Args:
            target: its dotted path.
            args, kwargs: the arguments.

        Returns:
            The proxy for its result.
        """
        return self.tracer.call_module(self.fetch_attr(str(target)), str(target), args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records the call of a function.

        Args:
            target: the function.
            args, kwargs: the arguments.

        Returns:
            The proxy for its result.
        """
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        """Transforms one node; what is made of it keeps where in the program it comes from.

        Args:
            n: the node.

        Returns:
            The proxy.
        """
        with fx_traceback.set_current_meta(n, "Interpreter_Transformer"):
            return super().run_node(n)

    def transform(self) -> GraphModule:
        """Makes the new graph.

        Returns:
            A module with it.
        """
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            old = self.graph.output_node()
            output = self.new_graph.output(
                map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a), type_expr=old.type
            )
            output.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(GraphAppendingTracer):
    def __init__(self, graph: Graph, module: Any) -> None:
        super().__init__(graph)
        self.module = module

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return True

    def call_module(self, m: Any, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.create_proxy("call_module", path, args, kwargs)
