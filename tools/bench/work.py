"""What a prepared case reads, writes and computes, by running it once more. It runs in the worker's environment."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any


def tensors(module: ModuleType, value: Any, depth: int = 3) -> Iterator[Any]:
    """The tensors in a value: itself, the elements of lists, tuples and dictionaries, or a layer's parameters."""
    if isinstance(value, module.Tensor):
        yield value
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from tensors(module, each, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(module, each, depth - 1)
    elif callable(getattr(value, "parameters", None)):
        yield from value.parameters()


def size(tensor: Any) -> int:
    """The bytes of a tensor's elements; 0 for layouts that have no strides."""
    return tensor.numel() * tensor.element_size() if str(tensor.layout) == "torch.strided" else 0


def measure(module: ModuleType, run: str, names: dict[str, Any]) -> dict[str, Any]:
    """The bytes of the operands that a statement names and of its result, and the operations of its products.

    Args:
        module: the library.
        run: the statement.
        names: the names of its setup.
    """
    try:
        code, is_expression = compile(run, "<run>", "eval"), True
    except SyntaxError:
        code, is_expression = compile(run, "<run>", "exec"), False
    operands = {id(t): t for t in named_tensors(module, code, names)}
    result, flops = counted(module, code, names) if is_expression else (None, 0)
    memories = {t.data_ptr() for t in operands.values()}
    written = [t for t in tensors(module, result) if id(t) not in operands and t.data_ptr() not in memories]
    kinds = [str(t.dtype).removeprefix("torch.") for t in operands.values() if t.is_floating_point()]
    return {
        "read": sum(map(size, operands.values())),
        "written": sum(map(size, written)),
        "flops": flops,
        "dtype": kinds[0] if kinds else "",
    }


def named_tensors(module: ModuleType, code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """The tensors of the names that a statement reads."""
    for name in code.co_names:
        yield from tensors(module, names.get(name))


def counted(module: ModuleType, code: CodeType, names: dict[str, Any]) -> tuple[Any, int]:
    """The value of an expression, and the operations of its products and convolutions."""
    counter = module.utils.flop_counter.FlopCounterMode(display=False)
    with counter:
        result = eval(code, names)
    return result, counter.get_total_flops()
