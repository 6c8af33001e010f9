"""Functions whose code is TorchScript."""

from __future__ import annotations

import ast
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import tl_nn

from .call_arguments import check_call
from .errors import ScriptWarning
from .graph_text import Graph
from .linking import absorb
from .printing import definition_text
from .program import Program
from .sources import Sources
from .tracing_state import current_trace
from .types import type_of

__all__ = ["ScriptFunction"]


class ScriptFunction:
    """A compiled function, as `script` and `trace` return it.

    Args:
        program: the `Program` of the function, or a function that returns the program and the dotted name when the
            function is first needed.
        qualified_name: the dotted name of the function in the program.
        python: the function of Python that was compiled, whose name and documentation the compiled one has.

    Example:
        >>> program = Program(Sources())
        >>> _ = program.archive.add("__torch__.f", "def f(x: int) -> int:\\n  return torch.add(x, 1)\\n")
        >>> f = ScriptFunction(program, "__torch__.f")
        >>> f(2), f.name
        (3, 'f')
        >>> print(f.code, end="")
        def f(x: int) -> int:
          return torch.add(x, 1)
    """

    def __init__(
        self, program: Any = None, qualified_name: str = "", python: Callable[..., Any] | None = None
    ) -> None:
        if program is None:
            raise TypeError("ScriptFunction: No constructor defined! Use torch.jit.script or torch.jit.trace")
        self._source, self._name = program, qualified_name
        self._run: Callable[..., Any] | None = None
        for name in ("__doc__", "__module__"):
            if python is not None:
                setattr(self, name, getattr(python, name, None))
        own = qualified_name.rpartition(".")[2]
        self.__name__ = self.__qualname__ = getattr(python, "__name__", own) if python is not None else own
        self._python = self._torchdynamo_inline = python
        if python is not None:
            self.__wrapped__ = python

    # ---- the program
    @property
    def _program(self) -> Program:
        if not isinstance(self._source, Program):
            self._source, self._name = self._source()
        result: Program = self._source
        return result

    @property
    def qualified_name(self) -> str:
        """The dotted name of the function in its program."""
        assert self._program is not None
        return self._name

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.qualified_name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._run is None:
            self._run = self._compile_once()
        trace = current_trace()
        if trace is not None:
            return trace.record_script_call(self, self.name, self._run, args, kwargs)
        return self._run(*args, **kwargs)

    def _compile_once(self) -> Callable[..., Any]:
        """What runs: the compiled function; where its decorator ran in an import, the function itself if need be."""
        deferred = not isinstance(self._source, Program)
        try:
            function = self._program.function(self.qualified_name)
            return check_call(function, self._definition, self._program)
        except Exception as error:
            if not deferred or self._python is None:
                raise
            warnings.warn(
                f"{self.__name__} can't be compiled and runs as Python. {error}", ScriptWarning, stacklevel=3
            )
            return self._python

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self  # a function on a class takes no self, as in PyTorch

    def __repr__(self) -> str:
        return f"<torch.jit.ScriptFunction {self.name}>"

    # ---- its code
    @property
    def _definition(self) -> ast.FunctionDef:
        node = self._program.archive.definition(self.qualified_name)
        assert isinstance(node, ast.FunctionDef)
        return node

    @property
    def code(self) -> str:
        """The code of the function."""
        return definition_text(self._definition)

    @property
    def code_with_constants(self) -> tuple[str, dict[str, Any]]:
        """The code of the function and the constants that it names."""
        code = self.code
        numbers = [int(n) for n in re.findall(r"CONSTANTS\.c(\d+)", code)]
        return code, {f"c{n}": self._program.constants[n] for n in numbers}

    @property
    def graph(self) -> Graph:
        """The operators of the function."""
        return Graph(self._program, self._definition, None)

    @property
    def inlined_graph(self) -> Graph:
        """The operators of the function, with those of called functions in the place of the calls."""
        return Graph(self._program, self._definition, None, inlined=True)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The operators of the function. They are the same for all arguments, as tl doesn't specialize graphs."""
        return self.graph

    @property
    def schema(self) -> str:
        """The arguments and the result of the function, as text."""
        return Graph(self._program, self._definition, None).schema()

    def get_debug_state(self) -> None:
        """The state of PyTorch's executor, which tl doesn't have: raises RuntimeError."""
        raise RuntimeError(
            "get_debug_state: tl runs the code of a ScriptFunction as Python, without an executor"
        )

    # ---- archives
    def _as_module(self) -> Any:
        """A module whose `forward` calls the function, as archives hold modules only."""
        program = Program(Sources())
        name = "__torch__.PlaceholderModule"
        program.archive.add(name, "class PlaceholderModule(Module):\n  training : bool\n")
        own = absorb(program, self._program, self.qualified_name)
        node = program.archive.definition(own)
        arguments = [a.arg for a in node.args.args]
        call = ast.parse(f"{own}({', '.join(arguments)})", mode="eval").body
        owner = ast.arg("self", ast.parse(name, mode="eval").body)
        signature = ast.arguments([], [owner, *node.args.args], None, [], [], None, node.args.defaults)
        forward = ast.FunctionDef("forward", signature, [ast.Return(call)], [], node.returns)
        program.archive.add_method(name, definition_text(ast.fix_missing_locations(forward)))
        result: Any = object.__new__(program.class_of(name))
        tl_nn.Module.__init__(result)
        return result

    def save(self, filename: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Writes an archive of a module whose `forward` is the function.

        Args:
            filename: a path, or an object with `write`.
            _extra_files: texts or bytes by name that the archive holds besides.
        """
        self._as_module().save(filename, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """Returns the bytes of the function's archive."""
        buffer = io.BytesIO()
        self.save(buffer, _extra_files)
        return buffer.getvalue()

    def result_type(self) -> Any:
        """The type of the result, as the code states it."""
        return type_of(self._definition.returns)
