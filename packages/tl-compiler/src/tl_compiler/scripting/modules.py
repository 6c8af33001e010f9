"""Modules in a program: the class of each, its methods as they are needed, and the scripted module itself."""

from __future__ import annotations

import ast
import functools
import math
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any

import tl_nn
from tl_core.extensions.custom_classes import method_of

from ..jit.decorations import FunctionModifiers
from ..jit.internal import get_torchscript_modifier
from ..script.linking import absorb
from ..script.printing import constant_text
from ..script.script_module import RecursiveScriptModule, is_compiled
from ..script.sources import program_name
from ..script.types import Type
from .function_compiler import FunctionCompiler
from .library_code import module_source
from .module_types import ModuleFacts, annotations_of, class_attribute, facts_of, key_of
from .names import SETTER
from .operands import Bound, Items, ModuleValue, Operand, PythonValue, Value
from .operator_types import BOOL, NONE, STR, TENSOR
from .signatures import Signature
from .source import source_of, source_of_text

__all__ = ["ModuleCompiler"]

_TREE_METHODS = frozenset(
    f"{named}{word}" for named in ("", "named_") for word in ("children", "modules", "parameters", "buffers")
)


@dataclass
class ModuleClass:
    """The class of a module in the program.

    Args:
        name: the dotted name.
        module: a module of the class.
        facts: its attributes.
        children: the names of the classes of its parts.
        interfaces: the names of the interfaces that parts are declared as.
        signatures: the signatures of the methods that are compiled.
        open: the names of the methods that are being compiled.
        texts: the sources of the methods that a text defines.
    """

    name: str
    module: Any
    facts: ModuleFacts
    children: dict[str, str]
    interfaces: dict[str, str]
    signatures: dict[str, Signature] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    texts: dict[str, Any] = field(default_factory=dict)


class ModuleCompiler:
    """The part of a session that compiles modules."""

    def _start_modules(self: Any) -> None:
        self._by_key: dict[Any, ModuleClass] = {}
        self._module_classes: dict[str, ModuleClass] = {}
        self._names_of_modules: dict[int, tuple[Any, str]] = {}
        self._annotations: dict[type, dict[str, Any]] = {}

    # ---- classes
    def module_class(self: Any, module: Any) -> str:
        """The dotted name of a module's class, which the program declares now."""
        entry = self._names_of_modules.get(id(module))
        if entry is not None:
            return entry[1]
        if is_compiled(module):
            kind: Any = type(module)
            name = absorb(self.program, kind._program, kind._declaration.name)
        else:
            facts = facts_of(module, self)
            interfaces = self.interface_attributes(module)
            children = {n: self.module_class(m) for n, m in facts.modules.items() if m is not None}
            key = key_of(module, facts, children)
            shared = self._by_key.get(key)
            if shared is None:
                shared = self._by_key[key] = self._declare_module(module, facts, children, interfaces)
            name = shared.name
        self._names_of_modules[id(module)] = module, name
        return name

    def annotations_of(self: Any, kind: type) -> dict[str, Any]:
        """The annotations of a class of modules, which are evaluated once."""
        if kind not in self._annotations:
            self._annotations[kind] = annotations_of(kind)
        return self._annotations[kind]

    def interface_attributes(self: Any, module: Any) -> dict[str, str]:
        """The interfaces that annotations of a module's class state for its parts."""
        result = {}
        for name, annotation in self.annotations_of(type(module)).items():
            if isinstance(annotation, type) and "__torch_script_interface__" in vars(annotation):
                result[name] = self.class_name(annotation)
        return result

    def _declare_module(
        self: Any, module: Any, facts: ModuleFacts, children: dict[str, str], interfaces: dict[str, str]
    ) -> ModuleClass:
        name = self.free_name(program_name(type(module)))
        lines = [f"class {name.rpartition('.')[2]}(Module):"]
        lines.append(
            f"  __parameters__ = [{''.join(f'{p!r}, ' for p, there in facts.parameters.items() if there)}]"
        )
        lines.append(
            f"  __buffers__ = [{''.join(f'{b!r}, ' for b, there in facts.buffers.items() if there)}]"
        )
        lines += self.hook_lines(module)
        for tensor, there in {**facts.parameters, **facts.buffers}.items():
            lines.append(_line(tensor, "Tensor" if there else "NoneType"))
        lines += ["  training : bool", "  _is_full_backward_hook : Optional[bool]"]
        lines += [_line(attribute, str(kind)) for attribute, kind in facts.attributes.items()]
        for constant, value in facts.constants.items():
            own = self.constant(value) if constant.isidentifier() and _is_plain(value) else None
            if own is not None and not hasattr(tl_nn.Module, constant):
                lines.append(f"  {constant} : Final[{own.type}] = {own.text}")
        for child, value in facts.modules.items():
            lines.append(
                _line(child, "NoneType" if value is None else interfaces.get(child, children.get(child, "")))
            )
        self.program.archive.add(name, "\n".join(lines) + "\n")
        result = ModuleClass(name, module, facts, {**children, **interfaces}, interfaces)
        self._module_classes[name] = result
        return result

    # ---- attributes
    def module_attribute(
        self: Any, compiler: Any, owner: ModuleValue, name: str, node: ast.AST
    ) -> Operand | None:
        """An attribute of a module."""
        kind = self._module_classes.get(owner.name)
        if kind is None:
            return self._of_program(owner, name)
        facts = kind.facts
        if name == "training":
            return Value(f"{owner.text}.training", BOOL)
        for table in (facts.parameters, facts.buffers):
            if name in table:
                return Value(_member(owner.text, name), TENSOR) if table[name] else Value("None", NONE, None)
        if name == "_flat_weights" and isinstance(owner.module, tl_nn.RNNBase):
            weights = [_member(owner.text, w) for w in owner.module._flat_weights_names]
            return Value(f"[{', '.join(weights)}]", Type("List", (TENSOR,)))
        if name in facts.modules:
            part = facts.modules[name]
            if part is None:
                return Value("None", NONE, None)
            return ModuleValue(_member(owner.text, name), part, kind.children[name])
        if name in facts.constants:
            constant = self.constant(facts.constants[name])
            if constant is not None:
                return constant
        if name in facts.attributes:
            stated = facts.attributes[name]
            return Value("None", NONE, None) if stated == NONE else Value(_member(owner.text, name), stated)
        if name in facts.functions:
            return PythonValue(facts.functions[name], name, type(owner.module).__name__)
        if name in facts.failed:
            raise compiler.error(
                node,
                f"Module '{type(owner.module).__name__}' has no attribute '{name}' (This attribute "
                "exists on the Python module, but we failed to convert Python type: "
                f"'{type(getattr(owner.module, name)).__name__}' to a TorchScript type. "
                f"{facts.failed[name]}. Its type was inferred; try adding a type annotation for the "
                "attribute.)",
            )
        static = class_attribute(type(owner.module), name)
        if isinstance(static, property):
            return compiler.call_module(owner, name, [], {}, node)
        own = callable(getattr(owner.module, name, None)) or name in kind.texts
        if own or module_source(owner.module, name) is not None:
            return Bound(owner, name)
        raise compiler.error(node, f"Module '{type(owner.module).__name__}' has no attribute '{name}' ")

    def _of_program(self: Any, owner: ModuleValue, name: str) -> Operand | None:
        """An attribute of a module whose class another program, or an interface, declares."""
        declaration = self.program.declaration(owner.name)
        if name in declaration.methods:
            return Bound(owner, name)
        kind = declaration.attributes.get(name)
        if kind is None:
            return None
        inner = self.program.declaration(kind.inner.name)
        if inner is not None and inner.kind.startswith("module"):
            return ModuleValue(_member(owner.text, name), getattr(owner.module, name), kind.name)
        return Value(_member(owner.text, name), kind)

    def attribute_type(self: Any, owner: ModuleValue, name: str) -> Type | None:
        """The type of an attribute that a program may set, or None."""
        kind = self._module_classes.get(owner.name)
        if kind is None:
            return self.program.declaration(owner.name).attributes.get(name)
        if name in kind.facts.attributes:
            return kind.facts.attributes[name]
        if name == "training":
            return BOOL
        if name in kind.interfaces:
            return Type(kind.interfaces[name])
        if self.has_setter(owner, name):
            return self.compile_method(kind, f"{name}{SETTER}").arguments[0][1]
        return TENSOR if name in kind.facts.parameters or name in kind.facts.buffers else None

    def has_setter(self: Any, owner: Operand, name: str) -> bool:
        """Whether an attribute is a property that programs set by a method."""
        if isinstance(owner, ModuleValue):
            static = class_attribute(type(owner.module), name) if owner.name in self._module_classes else None
            return isinstance(static, property) and static.fset is not None
        if not isinstance(owner, Value):
            return False
        own = owner.type.name, f"{name}{SETTER}"
        return own in self._method_signatures or method_of(*own) is not None

    def module_has(self: Any, owner: ModuleValue, name: str) -> bool:
        """Whether a module has an attribute that a program can read."""
        kind = self._module_classes.get(owner.name)
        if kind is None:
            declaration = self.program.declaration(owner.name)
            return name in declaration.attributes or name in declaration.methods
        return hasattr(owner.module, name)

    def container_items(self: Any, owner: ModuleValue) -> Any:
        """The modules in a container: a list, or a dictionary by name; None for another module."""
        if is_compiled(owner.module):
            original = owner.module.original_name
            if original not in ("ModuleList", "Sequential", "ModuleDict"):
                return None
            as_dict = original == "ModuleDict"
        elif isinstance(owner.module, (tl_nn.ModuleList, tl_nn.Sequential, tl_nn.ModuleDict)):
            as_dict = isinstance(owner.module, tl_nn.ModuleDict)
        elif isinstance(owner.module, (tl_nn.ParameterList, tl_nn.ParameterDict)):
            return self._parameter_items(owner)
        else:
            return None
        items = {
            name: Value("None", NONE, None)
            if part is None
            else ModuleValue(_member(owner.text, name), part, self.module_class(part))
            for name, part in owner.module._modules.items()
        }
        return items if as_dict else list(items.values())

    def _parameter_items(self: Any, owner: ModuleValue) -> Any:
        items = {name: Value(_member(owner.text, name), TENSOR) for name in owner.module._parameters}
        return items if isinstance(owner.module, tl_nn.ParameterDict) else list(items.values())

    # ---- methods
    def module_call(
        self: Any,
        compiler: Any,
        owner: ModuleValue,
        name: str,
        arguments: list[Operand],
        keywords: dict[str, Operand],
        node: ast.AST,
    ) -> Operand | None:
        """A call of a method that containers answer while the function is compiled, or None."""
        if (
            name in _TREE_METHODS
            and not (arguments or keywords or is_compiled(owner.module))
            and getattr(type(owner.module), name) is getattr(tl_nn.Module, name)
        ):
            return self._tree_items(owner, name)
        items = self.container_items(owner) if name in ("keys", "values", "items") else None
        if isinstance(items, dict):
            names = [Value(f'"{k}"', STR, k) for k in items]
            if name == "keys":
                return Items(list(names))
            if name == "values":
                return Items(list(items.values()))
            return Items([Items([k, v]) for k, v in zip(names, items.values(), strict=True)])
        return None

    def _tree_items(self: Any, owner: ModuleValue, method: str) -> Items:
        """The modules or tensors below a module that one of its methods yields, as operands."""
        if method.endswith("modules") and self._module_classes[owner.name].interfaces:
            raise RuntimeError(
                f"Could not compile '{method}()' of {type(owner.module).__name__}, because it has a part whose type is "
                "an interface"
            )
        values: list[Any] = []
        for path, part in getattr(owner.module, f"named_{method.removeprefix('named_')}")():
            text = functools.reduce(_member, path.split(".") if path else [], owner.text)
            if isinstance(part, tl_nn.Module):
                value: Operand = (
                    owner if part is owner.module else ModuleValue(text, part, self.module_class(part))
                )
            else:
                value = Value(text, TENSOR)
            named = method.startswith("named_")
            values.append(Items([Value(constant_text(path), STR, path), value]) if named else value)
        return Items(values)

    def module_method(self: Any, owner: ModuleValue, name: str, compiler: Any, node: ast.AST) -> Signature:
        """The signature of a method of a module, which is compiled now."""
        kind = self._module_classes.get(owner.name)
        if kind is None:
            signature = self._method_of_program(owner.name, name)
            if signature is None:
                raise compiler.error(node, f"Module has no method '{name}'")
            return signature
        return self.compile_method(kind, name)

    def compile_method(
        self: Any, kind: ModuleClass, name: str, function: Any = None, stated: Signature | None = None
    ) -> Signature:
        """Compiles a method of a module's class.

        Args:
            kind: the class.
            name: the name of the method in the program.
            function: the function, or None for the module's own of that name.
            stated: a signature whose types replace annotations, or None.
        """
        if name in kind.signatures:
            return kind.signatures[name]
        if name in kind.open:
            raise RuntimeError(f"function '{name}' is called recursively. Recursive calls are not supported")
        owner = ModuleValue("self", kind.module, kind.name)
        if name == "__setstate__" and stated is None and hasattr(kind.module, "__getstate__"):
            stated = self._stated_by_getstate(kind)
        if function is None:
            static = class_attribute(type(kind.module), name)
            function = static.fget if isinstance(static, property) else getattr(kind.module, name, None)
            if function is None and name.endswith(SETTER):
                function = class_attribute(type(kind.module), name.removesuffix(SETTER)).fset
        modifier = get_torchscript_modifier(function)
        kind.open.add(name)
        try:
            if modifier in (FunctionModifiers.IGNORE, FunctionModifiers.UNUSED, FunctionModifiers._DROP):
                text, signature = self._python_method(kind, name, function, modifier)
            else:
                source = kind.texts.get(name) or module_source(kind.module, name)
                source = source_of(function) if source is None else source
                text, signature = FunctionCompiler(self, source, owner, name).compile(stated)
        finally:
            kind.open.discard(name)
        kind.signatures[name] = signature
        self._store_method(kind.name, name, text)
        return signature

    def _stated_by_getstate(self: Any, kind: ModuleClass) -> Signature | None:
        """The signature of `__setstate__`, whose argument is what `__getstate__` returns, unless it is annotated."""
        arguments = source_of(kind.module.__setstate__).node.args.args
        if len(arguments) != 2 or arguments[1].annotation is not None:
            return None
        state = self.compile_method(kind, "__getstate__").result
        return Signature("__setstate__", [(arguments[1].arg, state, None)], NONE)

    def _python_method(
        self: Any, kind: ModuleClass, name: str, function: Any, modifier: str
    ) -> tuple[str, Signature]:
        """A method that stays Python: the program's method calls it."""
        plain = getattr(function, "__func__", function)
        compiler = FunctionCompiler(self, source_of(plain), ModuleValue("self", kind.module, kind.name), name)
        signature = self.declared_signature(plain, compiler, compiler.source.node, skip=1)
        compiler.depth = 1
        if modifier != FunctionModifiers.IGNORE:
            compiler.fail('"Cannot call @unused methods"', "builtins.RuntimeError")
            return compiler.text(signature), signature
        target, _ = self.python_call(plain, signature)
        names = ["self", *(argument for argument, _, _ in signature.arguments)]
        compiler.emit(f"return {target}({', '.join(names)})")
        return compiler.text(signature), signature

    def _compile_interfaces(self: Any, module: Any, kind: ModuleClass) -> None:
        """Compiles the methods that the interfaces of a module's parts declare."""
        for name, interface in kind.interfaces.items():
            part = module._modules[name]
            inner = self._module_classes.get(self.module_class(part))
            for method in self.program.declaration(interface).methods if inner is not None else ():
                self.compile_method(inner, method)

    # ---- the scripted module
    def compile_module(self: Any, module: Any) -> str:
        """Compiles a module with its parts: `forward`, exported methods and what they call."""
        name = self.module_class(module)
        for part in module.modules():
            kind = self._module_classes.get(self.module_class(part))
            if kind is not None:
                for method in _entry_points(part):
                    if part is module or method != "forward":
                        self.compile_method(kind, method)
                self._compile_interfaces(part, kind)
                self.check_hooks(kind)
        return name

    def compile_in_place(self: Any, module: Any) -> None:
        """Compiles an object of a subclass of `ScriptModule`, which becomes a module of the program.

        Its methods are those that `script_method` marks, and those of the texts that `define` stored.
        """
        subclass = type(module)
        kind = self._module_classes[self.module_class(module)]
        scope = dict(vars(sys.modules[subclass.__module__]))
        for text in vars(module).get("_method_texts", ()):
            sources = source_of_text(textwrap.dedent(text), scope.__getitem__, subclass.__name__, "<string>")
            kind.texts.update(sources)
        for name in kind.texts:
            self.compile_method(kind, name)
        for name in dir(subclass):
            if getattr(class_attribute(subclass, name), "_script_method", False):
                self.compile_method(kind, name)
        facts = {
            "__module__": subclass.__module__,
            "__qualname__": subclass.__qualname__,
            "_written_class": subclass,
        }
        self.program.bases[kind.name] = type(subclass.__name__, (RecursiveScriptModule, subclass), facts)
        for name, part in module._modules.items():
            module._modules[name] = self.build_module(part)
        for name in kind.facts.attributes:
            value = getattr(module, name, None)
            vars(module)[name] = (
                getattr(value, "value", value) if type(value).__name__ == "Attribute" else value
            )
        vars(module)["_is_full_backward_hook"] = None
        module.__class__ = self.program.class_of(kind.name)

    def build_module(self: Any, module: Any, built: dict[int, Any] | None = None) -> Any:
        """Returns the scripted module, which shares the tensors of the module."""
        built = {} if built is None else built
        if module is None or is_compiled(module):
            return module
        if id(module) in built:
            return built[id(module)]
        kind = self._module_classes[self.module_class(module)]
        result: Any = object.__new__(self.program.class_of(kind.name))
        tl_nn.Module.__init__(result)
        built[id(module)] = result
        result._parameters.update(module._parameters)
        result._buffers.update(module._buffers)
        result._non_persistent_buffers_set = set(module._non_persistent_buffers_set)
        for name, value in vars(module).items():
            if name in kind.facts.attributes:
                value = getattr(value, "value", value) if type(value).__name__ == "Attribute" else value
                self.check_object(value, kind.facts.attributes[name])
                vars(result)[name] = own_containers(value)
            elif name not in vars(result) and name not in result._modules:
                vars(result)[name] = value  # methods that stay Python read it
        for name in kind.facts.attributes:
            vars(result).setdefault(name, own_containers(getattr(module, name, None)))
        for table in ("_forward_hooks", "_forward_pre_hooks"):
            vars(result)[table] = vars(module)[table].copy()
        vars(result).update(training=module.training, _is_full_backward_hook=None)
        vars(result)["_python_class"] = type(module)
        for name, part in module._modules.items():
            result._modules[name] = self.build_module(part, built)
        return result


def own_containers(value: Any) -> Any:
    """A value whose lists and dictionaries are copies, so that a program doesn't share them with Python."""
    if type(value) is list:
        return [own_containers(v) for v in value]
    if type(value) is dict:
        return {k: own_containers(v) for k, v in value.items()}
    return tuple(map(own_containers, value)) if type(value) is tuple else value


def _entry_points(module: Any) -> list[str]:
    """The methods of a module that are compiled even if nothing calls them."""
    names = []
    forward = getattr(type(module), "forward", None)
    containers = (tl_nn.ModuleList, tl_nn.ModuleDict, tl_nn.ParameterList, tl_nn.ParameterDict)
    plain = {tl_nn.Module.forward, *(getattr(c, "forward", None) for c in containers)}
    own = forward is not None and forward not in plain
    if own and get_torchscript_modifier(forward) in (FunctionModifiers.DEFAULT, FunctionModifiers.EXPORT):
        names.append("forward")
    exported = {
        name
        for base in type(module).__mro__
        for name, function in vars(base).items()
        if getattr(function, "_torchscript_modifier", None) == FunctionModifiers.EXPORT
    }
    names += sorted(exported - {"forward"})
    return names


def _is_plain(value: Any) -> bool:
    """Whether a constant's text is one that readers of archives take."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_plain, value))
    return type(value) in (bool, int, str, type(None)) or (type(value) is float and math.isfinite(value))


def _line(name: str, kind: str) -> str:
    return f"  {name} : {kind}" if name.isidentifier() else f'  __annotations__["{name}"] = {kind}'


def _member(text: str, name: str) -> str:
    return f"{text}.{name}" if name.isidentifier() else f'getattr({text}, "{name}")'
