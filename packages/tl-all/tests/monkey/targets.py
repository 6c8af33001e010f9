"""What is called: names of functions with their parameters, methods, properties, operators of the language."""

from __future__ import annotations

import importlib
import inspect
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tl

MODULES = [
    "tl",
    "tl.linalg",
    "tl.fft",
    "tl.special",
    "tl.nn.functional",
    "tl.sparse",
    "tl.nested",
    "tl.masked",
    "tl.signal.windows",
    "tl.func",
    "tl.autograd",
    "tl.autograd.functional",
    "tl.nn.init",
    "tl.nn.utils",
    "tl.nn.utils.rnn",
    "tl.nn.attention.flex_attention",
    "tl.utils.dlpack",
    "tl._VF",
    "tl.nn",
    "tl.optim",
    "tl.distributions",
]

# They end the process, take as long as an argument says, wait for others, change what later calls meet, or run code.
EXCLUDED = re.compile(
    r"\.(\w+_polynomial_\w+"
    r"|set_num_threads|set_num_interop_threads|set_default_device|set_default_dtype|set_default_tensor_type|set_flush_denormal"
    r"|set_printoptions|set_rng_state|set_warn_always|set_deterministic_debug_mode|use_deterministic_algorithms|set_float32_matmul_precision"
    r"|set_grad_enabled|set_autocast\w*|autocast_\w+|clear_autocast_cache|save|load|compile|import_ir_module\w*|get_file_path|typename"
    r"|prepare_multiprocessing_environment|set_multithreading_enabled|set_detect_anomaly|detect_anomaly|register_\w+|vitals_enabled|set_vital"
    r"|_?(enter|exit|push|pop)_\w+|backward_hook\w*|classproperty|share_memory_|__reduce\w*__|__setstate__|__class__|__init_subclass__"
    r"|__subclasshook__|__del__|__getattribute__|__setattr__|__delattr__|__dir__|__sizeof__|__new__|__init__|set_module|pin_memory)$"
)

BINARY = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "is",
]
IN_PLACE = [
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "imatmul",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
]
UNARY = [
    "-({})",
    "+({})",
    "~({})",
    "not ({})",
    "abs({})",
    "len({})",
    "float({})",
    "int({})",
    "complex({})",
    "bool({})",
    "operator.index({})",
    "iter({})",
    "list({})",
    "tuple({})",
    "hash({})",
    "repr({})",
    "str({})",
    "format({}, '.3')",
    "round({})",
    "reversed({})",
    "divmod({}, 2)",
    "divmod(2, {})",
    "pow({}, 2, 3)",
    "sum({})",
    "max({})",
    "min({})",
    "sorted({})",
    "dir({})",
    "copy.copy({})",
    "copy.deepcopy({})",
    "pickle.loads(pickle.dumps({}))",
    "memoryview({})",
    "np.asarray({})",
    "np.sin({})",
    "np.add(np.ones(3), {})",
    "range({})",
    "[1, 2, 3][{}]",
    "bytes({})",
    "next(iter({}))",
    "dict([({}, 1)])",
    "isinstance({}, int)",
]
INDEX = ["({})[{}]", "operator.setitem({}, {}, {})", "operator.delitem({}, {})", "operator.contains({}, {})"]


@dataclass(frozen=True)
class Target:
    """Something to call, and what its signature says of its parameters: (name, has a default, by keyword alone)."""

    text: str
    parameters: tuple[tuple[str, bool, bool], ...]
    open_ended: bool = False  # takes any number


def _parameters(call: Any) -> tuple[tuple[tuple[str, bool, bool], ...], bool]:
    try:
        kinds = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return _documented(call)
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p for p in kinds if p.kind not in free]
    triples = tuple((p.name, p.default is not p.empty, p.kind is p.KEYWORD_ONLY) for p in named)
    return triples, len(named) < len(kinds)


def _documented(call: Any) -> tuple[tuple[tuple[str, bool, bool], ...], bool]:
    line = (inspect.getdoc(call) or "").split("\n", 1)[0]
    match = re.match(r"[\w.]+\((.*?)\)( ->|$)", line)
    if not match:
        return (("input", False, False), ("other", True, False)), True
    triples, keyword_only, open_ended = [], False, False
    for part in filter(None, (p.strip() for p in match[1].split(","))):
        name, _, default = part.partition("=")
        if name == "*":
            keyword_only = True
        elif name.startswith("*"):
            open_ended = True
        elif name.isidentifier():
            triples.append((name, bool(default), keyword_only))
    return tuple(triples), open_ended


def _target(text: str, call: Any, method: bool) -> Target:
    parameters, open_ended = _parameters(call)
    if method and parameters and parameters[0][0] in ("self", "input"):
        parameters = parameters[1:]
    return Target(text, parameters, open_ended)


def functions() -> list[Target]:
    """The public functions and classes of MODULES, and the operators by their own names."""
    matches = {}
    for name in MODULES:
        module = importlib.import_module(name)
        public = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        for attribute in sorted({*public, *(n for n in vars(module) if n.startswith("_foreach_"))}):
            value = getattr(module, attribute, None)
            text = f"{name}.{attribute}"
            if callable(value) and not inspect.ismodule(value) and not EXCLUDED.search(text):
                matches[text] = _target(text, value, method=False)
    for row in sorted(
        {op.partition(".")[0] for op in tl.Tensor._operator_names()}
        if hasattr(tl.Tensor, "_operator_names")
        else ()
    ):
        matches[f"tl.ops.aten.{row}"] = _target(f"tl.ops.aten.{row}", getattr(tl.ops.aten, row), method=False)
    return list(matches.values())


def _members(wanted: Callable[[Any], bool]) -> list[str]:
    names = (n for n in dir(tl.Tensor) if not EXCLUDED.search(f".{n}"))
    return [n for n in names if wanted(inspect.getattr_static(tl.Tensor, n, None))]


def methods() -> list[Target]:
    """The methods of tensors, those that the language calls among them."""
    callables = _members(lambda m: callable(m) or isinstance(m, staticmethod | classmethod))
    return [_target(name, getattr(tl.Tensor, name), method=True) for name in callables]


def properties() -> list[str]:
    """What is read and set on tensors."""
    return _members(lambda m: inspect.isdatadescriptor(m))


IN_PLACE_FUNCTIONS = [name for name in IN_PLACE if hasattr(operator, name)]
