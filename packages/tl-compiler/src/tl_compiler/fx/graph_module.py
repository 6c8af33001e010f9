"""A module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tl_core
import tl_nn

from .graph import Graph, PythonCode
from .node import map_aggregate, map_arg

__all__ = ["GraphModule"]

_number = itertools.count()


def _compiled(code: PythonCode, source: str = "") -> Any:
    """The function of generated code, whose lines tracebacks can show."""
    filename = f"<eval_with_key>.{next(_number)}{source}"
    linecache.cache[filename] = (len(code.src), None, code.src.splitlines(True), filename)
    namespace = dict(code.globals)
    exec(compile(code.src, filename, "exec"), namespace)
    return namespace["forward"]


def _holder(module: Any, path: list[str], make: bool) -> Any:
    for part in path:
        if not hasattr(module, part):
            if not make:
                return None
            module.add_module(part, tl_nn.Module())
        module = getattr(module, part)
    return module


def _copy_attribute(source: Any, to: Any, target: str) -> None:
    """Gives a module what another one holds at a dotted path."""
    *path, last = target.split(".")
    value = getattr(_holder(source, path, False), last)
    holder = _holder(to, path, True)
    if isinstance(value, tl_core.Tensor) and not isinstance(value, tl_nn.Parameter):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)


class GraphModule(tl_nn.Module):
    """A module made of a graph: `forward` is its generated code, and its parameters are those that the graph names.

    Args:
        root: a module from which the attributes that the graph names are copied, or a dictionary of them by path.
        graph: the graph.
        class_name: the name of the module's class.

    Raises:
        RuntimeError: a dictionary lacks what the graph names.

    Example:
        >>> import tl_nn
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(tl_nn.Sequential(tl_nn.ReLU()))
        >>> print(made.code.strip())
        def forward(self, input):
            input_1 = input
            _0 = getattr(self, "0")(input_1);  input_1 = None
            return _0
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each has a class of its own, since forward is looked up there.
        for base in cls.__mro__:
            if base.__qualname__.rpartition(".")[2] != "GraphModuleImpl":
                owner = base
                break
        return super().__new__(type("GraphModuleImpl", (owner,), {}))

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, tl_nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and not _has(self, str(node.target)):
                    _copy_attribute(root, self, str(node.target))
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self._tracer_cls = graph._tracer_cls
        self._tracer_extras = dict(graph._tracer_extras or {})
        self.meta: dict[str, Any] = {}
        self.graph = graph

    def _take(self, root: dict[str, Any], graph: Graph) -> None:
        needed = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        for target in needed:
            if target not in root:
                raise RuntimeError(
                    f"Node with target {target} was referenced in the graph but it was not provided in `root`!"
                )
        for target in sorted(set(needed), key=lambda t: t.count(".")):
            *path, last = target.split(".")
            setattr(_holder(self, path, True), last, root[target])

    # ---- the graph and its code
    @property
    def graph(self) -> Graph:
        """The graph. Assigning one generates the code."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g if g.owning_module is None or g.owning_module is self else copy.deepcopy(g)
        self._graph.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """The text of the generated function."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Generates the code again, after the graph was changed.

        Returns:
            The code.
        """
        made = self._graph.python_code("self")
        self._code = made.src
        self._lineno_map = made._lineno_map
        type(self).forward = _compiled(made, self._graph._source)  # type: ignore[method-assign]
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _explain(error)
            raise

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> str:
        """The code of this module and of the graph modules in it, as classes.

        Args:
            print_output: whether it is printed.
            include_stride, include_device, colored: accepted; the text is the same.
            options: accepted; about how code is printed.

        Returns:
            The text.
        """
        lines = ["class " + type(self).__name__ + "(torch.nn.Module):"]
        lines += ["    " + line if line else "" for line in self.code.strip("\n").split("\n")]
        for child in self.children():
            if isinstance(child, GraphModule):
                lines += ["", *("    " + line for line in child.print_readable(False).split("\n"))]
        text = "\n".join(lines)
        if print_output:
            print(text)
        return text

    # ---- submodules
    def add_submodule(self, target: str, m: Any) -> bool:
        """Adds a submodule, and empty modules on the way to it.

        Args:
            target: its dotted path.
            m: the module.

        Returns:
            Whether it was added: not where something that is no module stands in the way.
        """
        *path, last = target.split(".")
        holder: Any = self
        for part in path:
            found = getattr(holder, part, None)
            if found is None:
                found = tl_nn.Module()
                setattr(holder, part, found)
            if not isinstance(found, tl_nn.Module):
                return False
            holder = found
        holder.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Removes a submodule.

        Args:
            target: its dotted path.

        Returns:
            Whether it was there.
        """
        *path, last = target.split(".")
        holder = _holder(self, path, False)
        if holder is None or not isinstance(getattr(holder, last, None), tl_nn.Module):
            return False
        delattr(holder, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Removes the submodules that the graph neither calls nor reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = str(node.target).split(".")
            used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                try:
                    called = self.get_submodule(str(node.target))
                except AttributeError:
                    continue  # a wrong target is lint's to name
                used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Writes the module as a Python package, with its tensors beside the code.

        Args:
            folder: the package's folder.
            module_name: the name of its class.
        """
        raise NotImplementedError(
            f"GraphModule.to_folder({str(Path(folder))!r}, {module_name!r}) is not there yet: pickle the module, or "
            "save its state_dict and its code"
        )

    # ---- copies and pickles
    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        tl_nn.Module.__init__(made)
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code", "_lineno_map")}
        made.__dict__.update(copy.deepcopy(state, memo))
        made.__class__.__name__ = type(self).__name__
        graph = copy.deepcopy(self._graph)
        made.graph = graph
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code", "_lineno_map")}
        return restored, (state, recorded(self._graph), self._graph._tracer_cls, type(self).__name__)

    def __str__(self) -> str:
        return "\n".join(
            [
                super().__str__(),
                self._code,
                "# To see more debug info, please use `graph_module.print_readable()`",
            ]
        )


def _has(module: Any, target: str) -> bool:
    for part in target.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


@dataclass(frozen=True)
class _Reference:
    """Stands for a node in a pickle, by its name."""

    name: str


def recorded(graph: Graph) -> list[tuple[Any, ...]]:
    """The nodes of a graph as data.

    Args:
        graph: the graph.

    Returns:
        For each node op, name, target, arguments with references for nodes, and annotation.
    """

    def refer(argument: Any) -> Any:
        return map_arg(argument, lambda node: _Reference(node.name))

    return [(n.op, n.name, n.target, refer(n.args), refer(n.kwargs), n.type) for n in graph.nodes]


def restored(
    state: dict[str, Any], records: list[tuple[Any, ...]], tracer_cls: Any, class_name: str
) -> GraphModule:
    """Makes a graph module from a pickle: the graph is built again, and its code generated.

    Args:
        state: the module's `__dict__`.
        records: the nodes.
        tracer_cls: the tracer that made the graph.
        class_name: the name of the module's class.

    Returns:
        The module.
    """
    graph, nodes = Graph(tracer_cls=tracer_cls), dict[str, Any]()

    def find(argument: Any) -> Any:
        return map_aggregate(argument, lambda a: nodes[a.name] if isinstance(a, _Reference) else a)

    for op, name, target, args, kwargs, kind in records:
        nodes[name] = graph.create_node(op, target, find(args), dict(find(kwargs)), name, kind)
    made = GraphModule.__new__(GraphModule)
    tl_nn.Module.__init__(made)
    made.__dict__.update(state)
    made.__class__.__name__ = class_name
    made.graph = graph
    return made


def _explain(error: Exception) -> None:
    """Says at which line of generated code an error came up."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<eval_with_key>"):
            lines = linecache.getlines(frame.filename)
            text = lines[max((frame.lineno or 0) - 3, 0) : frame.lineno]
            error.add_note("in the code of the graph:\n" + "".join(text) + "    ~~~~~ <--- HERE")
            return
