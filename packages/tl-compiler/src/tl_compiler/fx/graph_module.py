"""A module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import tl_core
import tl_nn
from tl_core.base.operator_hooks import maker

from .code_imports import import_block
from .graph import CodeGen, Graph, PythonCode, _PyTreeCodeGen
from .names import function_named, library_path
from .node import Node, map_aggregate, map_arg

__all__ = ["GraphModule"]

_number = itertools.count()
# In `meta`: attributes by name that copies of the module have, too.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = ("_erase_node_hooks", "_create_node_hooks", "_replace_hooks", "_deepcopy_hooks")
# What copies and pickles don't take over: it is made from the graph again, or belongs to one object.
_DERIVED = ("_graph", "_code", "_lineno_map", "_in_spec", "_out_spec", *_HOOKS)


def _compile(code: PythonCode, source: str = "") -> Any:
    """The function of generated code, whose lines tracebacks can show."""
    filename = f"<eval_with_key>.{next(_number)}{source}"
    linecache.cache[filename] = (len(code.src), None, code.src.splitlines(True), filename)
    namespace = dict(code.globals)
    exec(compile(code.src, filename, "exec"), namespace)
    return namespace["forward"]


def _holder(module: Any, path: list[str], make: bool) -> Any:
    for part in path:
        child = getattr(module, part, None)
        if child is None:
            if not make:
                return None
            child = tl_nn.Module()
            module.add_module(part, child)
        module = child
    return module


def _copy_attribute(source: Any, to: Any, target: str) -> None:
    """Gives a module what another one holds at a dotted path."""
    *path, last = target.split(".")
    value = getattr(_holder(source, path, False), last)
    holder = _holder(to, path, True)
    if isinstance(value, tl_nn.Module):
        holder.add_module(last, value)
    elif isinstance(value, tl_core.Tensor) and not isinstance(value, tl_nn.Parameter):
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
        self._erase_node_hooks: list[Callable[[Node], Any]] = []
        self._create_node_hooks: list[Callable[[Node], Any]] = []
        self._replace_hooks: list[Callable[..., Any]] = []
        self._deepcopy_hooks: list[Callable[[GraphModule], Any]] = []
        self.graph = graph

    def _take(self, root: dict[str, Any], graph: Graph) -> None:
        needed = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        for target in needed:
            if target not in root:
                raise RuntimeError(
                    f"Node with target {target} was referenced in the graph but it was not provided in `root`!"
                )
        for target in sorted(dict.fromkeys(needed), key=lambda t: t.count(".")):
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
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        code = self._graph.python_code("self")
        self._code = code.src
        self._lineno_map = code._lineno_map
        type(self).forward = _compile(code, self._graph._source)  # type: ignore[method-assign]
        return code

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
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """The code of this module and of the graph modules in it, as classes, with sizes and origins of values.

        Args:
            print_output: whether it is printed.
            include_stride, include_device: whether strides and devices are said with the sizes.
            colored: accepted; the text has no colors.
            fast_sympy_print: accepted; sizes are always written the quick way.
            expanded_def: whether each argument has a line of its own.
            additional_meta: further entries of `meta` that comments say.

        Returns:
            The text.
        """
        code = self._graph.python_code(
            "self",
            verbose=True,
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
            expanded_def=expanded_def,
            additional_meta=additional_meta,
        )
        text = _as_class(self, type(self).__name__, code.src)
        for name, child in self.named_children():
            if isinstance(child, GraphModule):
                inner = child.print_readable(
                    False, include_stride, include_device, colored, expanded_def=expanded_def,
                    additional_meta=additional_meta,
                )  # fmt: skip
                _, _, rest = inner.partition("(")
                named = f"class {name if name.isidentifier() else f'_{name}'}({rest}"
                text += "\n" + "".join(
                    f"    {line}\n" if line else "\n" for line in named.rstrip("\n").split("\n")
                )
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
            child = getattr(holder, part, None)
            if child is None:
                child = tl_nn.Module()
                setattr(holder, part, child)
            if not isinstance(child, tl_nn.Module):
                return False
            holder = child
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
            try:
                module = self.get_submodule(str(node.target))
            except AttributeError:
                continue  # a tensor; a wrong target is lint's to name
            used.update(f"{node.target}.{name}" for name, _ in module.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes the module as a Python package: `module.py`, the state, and the submodules beside it.

        What the package needs beyond the library is imported by the names that the graph has for it. Submodules that
        text can't make again are pickled whole; load such folders only if you trust them.

        Args:
            folder: the package's folder, made if it isn't there.
            module_name: the name of its class.
        """
        from .folder import write_folder

        write_folder(self, self.recompile(), Path(folder), module_name)

    # ---- copies and pickles
    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        tl_nn.Module.__init__(copied)
        copied.__dict__.update({**_no_hooks(), **copy.deepcopy(self._plain_state(), memo)})
        copied._deepcopy_hooks = list(self._deepcopy_hooks)
        copied.__class__.__name__ = type(self).__name__
        copied.graph = copy.deepcopy(self._graph)
        for name, value in copied.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(copied, name, value)
        for hook in copied._deepcopy_hooks:
            hook(copied)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)
        copied.meta = self.meta
        return copied

    def _replicate_for_data_parallel(self) -> GraphModule:
        replica = self.__copy__()
        replica._is_replica = True
        return replica

    def _plain_state(self) -> dict[str, Any]:
        """What a copy or pickle keeps besides the graph."""
        return {k: v for k, v in self.__dict__.items() if k not in _DERIVED}

    def __reduce__(self) -> Any:
        codegen = copy.copy(self._graph._codegen)
        codegen._body_transformer = None
        content = (node_records(self._graph), None if type(codegen) is CodeGen else codegen)
        return restored, (self._plain_state(), content, self._graph._tracer_cls, type(self).__name__)

    def __reduce_package__(self, exporter: Any) -> Any:
        """Puts the code into a package, where a person can read it; the graph is traced from it when it is read."""
        code = self._graph.python_code("self")
        name = f"fx-generated._{exporter.get_unique_id()}"
        text = import_block(code.globals, exporter.importer) + self.code
        exporter.save_source_string(name, text)
        body = {**self._plain_state(), "_graphmodule_cls_name": type(self).__name__}
        return maker("reduce_package_graph_module"), (body, name)

    def _register_create_node_hook(self, f: Callable[[Node], Any]) -> None:
        """Has a function called with each node that is made in the graph."""
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[[Node], Any]) -> None:
        """Has a function called with each node before it is removed from the graph."""
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        """Has a function called with `old`, the name of the `new` node and the `user` before a node is replaced."""
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[[GraphModule], Any]) -> None:
        """Has a function called with each deep copy."""
        self._deepcopy_hooks.append(f)

    @contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    @contextmanager
    def _set_create_node_hook(self, f: Callable[[Node], Any]) -> Iterator[None]:
        self._register_create_node_hook(f)
        try:
            yield
        finally:
            self._unregister_create_node_hook(f)

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


def node_records(graph: Graph) -> list[tuple[Any, ...]]:
    """The nodes of a graph as data.

    Args:
        graph: the graph.

    Returns:
        For each node op, name, target, arguments with references for nodes, and annotation.
    """

    def refer(argument: Any) -> Any:
        return map_arg(argument, lambda node: _Reference(node.name))

    return [(n.op, n.name, _target(n), refer(n.args), refer(n.kwargs), n.type) for n in graph.nodes]


@dataclass(frozen=True)
class _Public:
    """Stands for a function of the library in a pickle, by the name under which users find it."""

    path: str


def _target(node: Node) -> Any:
    """What a node calls, as a pickle can say it: where a function is defined need not be where it is found."""
    path = library_path(node.target) if isinstance(node.target, BuiltinFunctionType) else None
    return node.target if path is None else _Public(path)


def restored(
    state: dict[str, Any], content: tuple[list[tuple[Any, ...]], Any], tracer_cls: Any, class_name: str
) -> GraphModule:
    """Makes a graph module from a pickle: the graph is built again, and its code generated.

    Args:
        state: the module's `__dict__`.
        content: the records of the nodes, and the code generator, or None for the usual one.
        tracer_cls: the tracer that made the graph.
        class_name: the name of the module's class.

    Returns:
        The module.
    """
    graph, nodes = Graph(tracer_cls=tracer_cls), dict[str, Any]()
    records, codegen = content

    def find(argument: Any) -> Any:
        return map_aggregate(argument, lambda a: nodes[a.name] if isinstance(a, _Reference) else a)

    for op, name, target, args, kwargs, kind in records:
        called = function_named(target.path) if isinstance(target, _Public) else target
        nodes[name] = graph.create_node(op, called, find(args), dict(find(kwargs)), name, kind)
    if codegen is not None:
        graph.set_codegen(codegen)
    module = GraphModule.__new__(GraphModule)
    tl_nn.Module.__init__(module)
    module.__dict__.update({**_no_hooks(), **state})
    module.__class__.__name__ = class_name
    module.graph = graph
    return module


def _no_hooks() -> dict[str, Any]:
    return {name: [] for name in _HOOKS}


def __getattr__(name: str) -> Any:
    if name in ("reduce_graph_module", "reduce_package_graph_module"):
        return maker(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _as_class(module: Any, name: str, code: str) -> str:
    lines = code.strip("\n ").split("\n")
    return f"class {name}(torch.nn.Module):\n" + "".join(
        f"    {line}\n" if line.strip() else "\n" for line in lines
    )


def _explain(error: Exception) -> None:
    """Says at which line of generated code an error came up."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<eval_with_key>"):
            lines = linecache.getlines(frame.filename)
            text = lines[max((frame.lineno or 0) - 3, 0) : frame.lineno]
            error.add_note("in the code of the graph:\n" + "".join(text) + "    ~~~~~ <--- HERE")
            return
