"""One compilation: a function, module or class with all that it calls becomes one program."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import types
from collections.abc import Callable
from typing import Any

import tl_core

from ..jit.decorations import FunctionModifiers
from ..jit.decorations import isinstance as jit_isinstance
from ..jit.frontend import FrontendError
from ..jit.internal import get_torchscript_modifier
from ..script.dtype_codes import code_of
from ..script.linking import absorb
from ..script.printing import constant_text
from ..script.program import Program
from ..script.script_function import ScriptFunction
from ..script.sources import Sources, fresh_name, program_name
from ..script.types import Type
from .annotations import KNOWN_NAMES, ClassResolver, UnknownType, type_of_annotation, type_of_value
from .attributes import AttributeReader
from .classes import ClassCompiler
from .function_compiler import FunctionCompiler
from .library_code import functional_source
from .module_hooks import ModuleHooks
from .modules import ModuleCompiler
from .names import operator_of
from .operands import Operand, PythonValue, Value
from .operator_types import BOOL, INT, NONE, STR, list_of
from .overloads import Overloads
from .signatures import Signature, signature_of
from .source import source_of, source_of_text
from .special_calls import SPECIAL, assert_call

__all__ = ["Session"]

_CODED = (tl_core.dtype, tl_core.layout, tl_core.memory_format)


class Session(ClassCompiler, ModuleCompiler, ModuleHooks, AttributeReader, ClassResolver, Overloads):
    """Compiles what a program needs, each thing once.

    Args:
        caller_names: the local names of the caller of `script`, which annotations may use.

    Args:
        program: the `Program` that receives the definitions. Its code is a `Sources`.
    """

    jit_isinstance = staticmethod(jit_isinstance)

    def __init__(self, caller_names: dict[str, Any] | None = None) -> None:
        self.program = Program(Sources(is_own=True))
        self.program.has_new_code = True
        self.caller_names = caller_names or {}
        self._functions: dict[int, tuple[Any, str, Signature | None]] = {}
        self._start_classes()
        self._start_modules()

    def free_name(self, name: str) -> str:
        """A dotted name that the program doesn't have."""
        return name if self.program.archive.definition(name) is None else fresh_name(name)

    # ---- constants
    def is_constant(self, value: Any) -> bool:
        """Whether a value of Python is a constant of programs."""
        return self.constant(value) is not None

    def constant(self, value: Any) -> Value | None:
        """A value of Python as a constant, or None for another value."""
        kinds = {
            bool: BOOL,
            int: INT,
            float: Type("float"),
            str: STR,
            complex: Type("complex"),
            type(None): NONE,
        }
        if type(value) in kinds:
            return Value(constant_text(value), kinds[type(value)], value)
        if isinstance(value, _CODED):
            return Value(str(code_of(value)), INT, code_of(value))
        if isinstance(value, tl_core.device):
            return Value(f"torch.device({constant_text(str(value))})", Type("Device"), value)
        if isinstance(value, enum.Enum):
            name = self.class_name(type(value))
            return Value(f"{name}.{value.name}", Type(name), value)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple, tl_core.Size):
            items = [self.constant(v) for v in value]
            if any(i is None for i in items) or (not items and isinstance(value, list)):
                return None
            return _container(value, [i for i in items if i is not None])
        return None

    # ---- functions
    def function(
        self,
        function: Any,
        compiler: Any,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
    ) -> tuple[str, Signature] | None:
        """The code that calls a function, and its signature; None for a function that isn't compiled."""
        if isinstance(function, ScriptFunction):
            return self._absorb_function(function)
        modifier = get_torchscript_modifier(function)
        if modifier in (FunctionModifiers.UNUSED, FunctionModifiers._DROP, FunctionModifiers.IGNORE):
            return self._python_function(function, modifier, compiler, node)
        library = functional_source(self, function, compiler, arguments, keywords)
        if library is not None:
            return self._compile_once(*library)
        if operator_of(function) is not None or not _has_source(function):
            return None
        target = inspect.unwrap(function)
        first = None
        if isinstance(target, types.MethodType) and isinstance(target.__self__, type):
            first, target = PythonValue(target.__self__, "cls"), target.__func__
        if isinstance(target, types.MethodType):
            raise compiler.error(
                node, f"the method {target.__qualname__} of an object of Python can't be compiled"
            )
        try:
            name = program_name(target)
            overload = self.overloaded_function(target, name, compiler, arguments, keywords, node)
            return overload or self._compile_once(target, lambda: source_of(target), name, first=first)
        except (RuntimeError, FrontendError) as error:
            raise compiler.source.called_from(error, target.__name__, node) from error.__cause__

    def _absorb_function(self, function: ScriptFunction) -> tuple[str, Signature]:
        self.share_classes(function._program)
        name: str = absorb(self.program, function._program, function.qualified_name)
        self.know_classes(function._program)
        return name, signature_of(self.program.archive.definition(name), name)

    def _compile_once(
        self,
        key: Any,
        source: Callable[[], Any],
        name: str,
        stated: Signature | None = None,
        first: Operand | None = None,
    ) -> tuple[str, Signature]:
        entry = self._functions.get(id(key))
        if entry is None:
            name = self.free_name(name)
            self._functions[id(key)] = key, name, None
            try:
                function = FunctionCompiler(self, source(), first, name.rpartition(".")[2])
                text, signature = function.compile(stated)
            except BaseException:
                del self._functions[id(key)]
                raise
            self.program.archive.add(name, text)
            entry = self._functions[id(key)] = key, name, signature
        if entry[2] is None:
            raise RuntimeError(
                f"function '{getattr(key, '__name__', key)}' is called recursively. Recursive calls are not supported"
            )
        return entry[1], entry[2]

    def compile_function(self, function: Any) -> str:
        """Compiles a function of a program, and returns its dotted name."""
        name = self.free_name(program_name(function))
        self._functions[id(function)] = function, name, None
        text, signature = FunctionCompiler(self, source_of(function), None, name.rpartition(".")[2]).compile()
        self.program.archive.add(name, text)
        self._functions[id(function)] = function, name, signature
        return name

    def compile_text(self, text: str) -> dict[str, str]:
        """Compiles the functions of a text, and returns their dotted names."""
        names: dict[str, str] = {}

        def find(name: str) -> Any:
            if name in names:
                return ScriptFunction(self.program, names[name])
            return KNOWN_NAMES[name] if name in KNOWN_NAMES else vars(builtins)[name]

        for name, source in source_of_text(text, find, "", "<string>").items():
            own = self.free_name(f"__torch__.{name}")
            code, _ = FunctionCompiler(self, source, None, own.rpartition(".")[2]).compile()
            self.program.archive.add(own, code)
            names[name] = own
        return names

    def _python_function(
        self, function: Any, modifier: str, compiler: Any, node: ast.AST
    ) -> tuple[str, Signature]:
        """A function that stays Python: a call of it, or an error where the program may not call it."""
        signature = self.declared_signature(function, compiler, node)
        if modifier == FunctionModifiers.IGNORE:
            return self.python_call(function, signature)
        entry = self._functions.get(id(function))
        if entry is None:
            name = self.free_name(program_name(function))
            own = FunctionCompiler(self, source_of(function), None, name.rpartition(".")[2])
            own.depth = 1
            own.fail('"Cannot call @unused methods"', "builtins.RuntimeError")
            self.program.archive.add(
                name, own.text(Signature(own.name, signature.arguments, signature.result))
            )
            entry = self._functions[id(function)] = function, name, signature
        return entry[1], signature

    def python_call(self, function: Any, signature: Signature) -> tuple[str, Signature]:
        """The code that calls a function that stays Python."""
        name = f"{signature.name}_{len(self.program.python_functions)}"
        self.program.python_functions[name] = function
        return f"ops.python.{name}", signature

    def declared_signature(
        self, function: Any, compiler: Any, node: ast.AST, skip: int = 0, unknown: Type | None = None
    ) -> Signature:
        """The signature that the annotations of a function state; `unknown` is the type of other annotations."""
        try:
            parameters = list(inspect.signature(function, eval_str=True).parameters.values())[skip:]
            result = inspect.signature(function, eval_str=True).return_annotation
        except (ValueError, TypeError, NameError) as error:
            raise compiler.error(node, f"the signature of {function!r} can't be read: {error}") from None
        arguments = []
        for parameter in parameters:
            stated = parameter.annotation is not parameter.empty
            if unknown is not None and parameter.kind is parameter.VAR_KEYWORD:
                continue
            try:
                kind = type_of_annotation(parameter.annotation, self) if stated else Type("Tensor")
            except UnknownType:
                if unknown is None:
                    raise
                kind = unknown
            default = None if parameter.default is parameter.empty else self.constant(parameter.default)
            arguments.append((parameter.name, kind, default))
        kind = Type("Tensor") if result is inspect.Signature.empty else type_of_annotation(result, self)
        return Signature(function.__name__, arguments, kind)

    # ---- questions of the compiler
    def special_call(
        self, compiler: Any, function: Any, node: ast.Call, expected: Type | None
    ) -> Operand | None:
        """The result of a call that needs the arguments' source, or None for another call."""
        try:
            handler = SPECIAL.get(function)
        except TypeError:
            return None
        if handler is None and getattr(function, "__name__", "") == "_assert":
            handler = assert_call
        return None if handler is None else handler(compiler, node, expected)

    def grad_switch(self, operand: Operand | None) -> str | None:
        """The name of a switch of gradients, such as "no_grad", or None for another operand."""
        value = operand.value if isinstance(operand, PythonValue) else None
        for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
            if value is not None and value is getattr(tl_core, name, None):
                return name
        return None

    def is_profiler_region(self, operand: Operand | None) -> bool:
        """Whether an operand is a region that only names a part of a recording."""
        value = operand.value if isinstance(operand, PythonValue) else None
        return getattr(value, "__name__", "") == "record_function"

    def value_type(self, value: Any) -> Type:
        """The type of a value of Python; UnknownType where it has none."""
        return type_of_value(value, self)


def _has_source(function: Any) -> bool:
    return isinstance(
        inspect.unwrap(function) if callable(function) else function, (types.FunctionType, types.MethodType)
    )


def _container(value: Any, items: list[Value]) -> Value:
    texts = [i.text for i in items]
    constants = [i.constant for i in items]
    if isinstance(value, (list, tl_core.Size)):
        return Value(f"[{', '.join(texts)}]", list_of(items[0].type if items else INT), constants)
    end = "," if len(items) == 1 else ""
    result = Value(
        f"({', '.join(texts)}{end})", Type("Tuple", tuple(i.type for i in items)), tuple(constants)
    )
    result.fields = items
    return result
