"""For an operator that writes to its arguments, one that returns what it would have written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.library.libraries import Library
from tl_core.operators.packets import OpOverload
from tl_core.schemas.function_schema import Argument, FunctionSchema

__all__ = ["register_functional_op"]


def register_functional_op(lib: Library, new_op_name: str, mutable_op: OpOverload) -> None:
    """Defines an operator of the same arguments that writes to none and returns their new values behind the results.

    Where writes are made functional (`func.functionalize`), the new operator takes the place of the one that writes.

    Args:
        lib: the library in which it is defined.
        new_op_name: its name.
        mutable_op: the operator that writes.

    Raises:
        TypeError: `mutable_op` is no overload of an operator.
        RuntimeError: it writes to nothing, in lists, or returns what it wrote.

    Example:
        >>> import tl_core as tl
        >>> lib = Library("variants", "DEF")
        >>> lib.define("double_(Tensor(a!) x) -> ()")
        'double_'
        >>> lib.impl("double_", lambda x: x.mul_(2) and None, "CompositeExplicitAutograd")
        >>> register_functional_op(lib, "double", tl.ops.variants.double_.default)
        >>> x = tl.tensor(3.0)
        >>> tl.ops.variants.double(x), x
        (tensor(6.), tensor(3.))
        >>> lib._destroy()
    """
    if not isinstance(mutable_op, OpOverload):
        raise TypeError(
            "register_functional_op(..., mutable_op): expected mutable_op to be instance of OpOverload, got "
            f"{type(mutable_op).__name__}"
        )
    schema = mutable_op._schema
    _check(schema)
    mutated = [i for i, argument in enumerate(schema.arguments) if argument.is_write]
    variant = _variant(new_op_name, schema)
    lib.define(str(variant))
    lib.impl(new_op_name, _functional(mutable_op, mutated), "CompositeExplicitAutograd")
    functional_op = getattr(getattr(tl_core.operators.packets, lib.ns), new_op_name).default
    lib.impl(mutable_op, _written_back(functional_op, mutated, len(schema.returns)), "Functionalize")


def _check(schema: FunctionSchema) -> None:
    writes = [argument for argument in schema.arguments if argument.is_write]
    if not writes or any(argument.is_out for argument in writes) or any(r.is_write for r in schema.returns):
        raise RuntimeError(
            f"Expected op to be mutable, and to return neither what it wrote nor a result by out=, got: {schema}"
        )
    if any("[]" in argument.type_text() for argument in writes):
        raise RuntimeError(f"NYI: operators that write to lists of tensors, got: {schema}")
    marked = [a for a in (*schema.arguments, *schema.returns) if a.alias_info is not None]
    if len(marked) > len(writes):
        raise RuntimeError(f"NYI: operators whose results share memory with their arguments, got: {schema}")


def _variant(name: str, schema: FunctionSchema) -> FunctionSchema:
    def without_alias(argument: Argument, name: str) -> Argument:
        clone = copy.copy(argument)
        clone.alias_info, clone.name = None, name
        return clone

    results = [without_alias(result, result.name) for result in schema.returns]
    results += [without_alias(a, f"{a.name}_out") for a in schema.arguments if a.is_write]
    return FunctionSchema(name, "", [without_alias(a, a.name) for a in schema.arguments], results)


def _results_of(value: Any, count: int) -> tuple[Any, ...]:
    return () if count == 0 else (value,) if count == 1 else tuple(value)


def _functional(mutable_op: OpOverload, mutated: list[int]) -> Callable[..., Any]:
    count = len(mutable_op._schema.returns)

    def run(*args: Any, **kwargs: Any) -> Any:
        arguments = list(args)
        for i in mutated:
            arguments[i] = None if arguments[i] is None else arguments[i].clone()
        results = _results_of(mutable_op(*arguments, **kwargs), count) + tuple(arguments[i] for i in mutated)
        return results[0] if len(results) == 1 else results

    return run


def _written_back(functional_op: OpOverload, mutated: list[int], count: int) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        results = _results_of(functional_op(*args, **kwargs), count + len(mutated))
        for i, value in zip(mutated, results[count:], strict=True):
            if args[i] is not None:
                args[i].copy_(value)
        return None if count == 0 else results[0] if count == 1 else results[:count]

    return run
