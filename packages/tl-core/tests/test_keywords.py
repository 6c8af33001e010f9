"""Arguments by keyword: every public function and method, each overload, all mixed positions and spellings.

The answer is that of the positional call, or both are refused alike.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl
from tl_core import fft, linalg, special
from tl_core.functions import nn as nn_functions

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import row_samples  # noqa: E402
from opgen import collect  # noqa: E402
from opgen.operators import Form  # noqa: E402
from opgen.python_names import by_position, spellings  # noqa: E402
from opgen.python_table import Function, functions  # noqa: E402
from opgen.schema import Arg  # noqa: E402

ROWS = collect.rows()
MODULES = {"": tl, "_nn": nn_functions, "_special": special, "_linalg": linalg, "_fft": fft}
COMMON = {"self": ("input", "a", "x", "x1"), "dim": ("axis",), "keepdim": ("keepdims",), "other": ("x2",)}
# Functions of any number of tensors, which have no name; and what is written in Python, with one name a parameter.
VARIADIC = {
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul",
    "einsum", "meshgrid",
}  # fmt: skip
# Refused in every form: a result in place of another type or shape, and a function whose parameters aren't the
# operator's.
REFUSED = {"addmm_", "baddbmm_", "cumprod_", "tensordot"}
ONE_NAME = {"narrow_copy", "nonzero", "split_copy", "split_with_sizes_copy", "unbind_copy"}


@dataclass(frozen=True)
class Callee:
    """A function or a method, under one name, with one overload."""

    function: Function
    form: Form
    is_method: bool

    @property
    def name(self) -> str:
        module = self.function.namespace or ("Tensor" if self.is_method else "")
        return f"{module}.{self.function.name}[{self.form.schema.overload}]".lstrip(".")

    @property
    def args(self) -> tuple[Arg, ...]:
        """What may be given by keyword."""
        return self.form.schema.args[1:] if self.is_method else self.form.schema.args

    def spelled(self, a: Arg) -> list[str]:
        """The names of a parameter, PyTorch's first."""
        manual = spellings(self.function.name, self.is_method).get(a.name)
        first = manual or (a.name if self.is_method or a.name != "self" or a.is_tensor_list else "input")
        if a.is_tensor_list or self.function.name in ONE_NAME:
            return [first]
        return [first, *(n for n in (a.name, *COMMON.get(a.name, ())) if n != first)]

    def __call__(self, values: list[Any], keywords: dict[str, Any]) -> Any:
        name = self.function.name
        if self.is_method:
            return getattr(values[0], name)(*values[1:], **keywords)
        module = self.function.namespace
        public = name.removeprefix(f"{module[1:]}_") if module not in ("", "_nn") else name
        return getattr(MODULES[module], public)(*values, **keywords)


def callees() -> Iterator[Callee]:
    """Every name that is public with every overload that it reaches."""
    for f in functions(ROWS):
        if f.name.startswith("_"):
            continue
        for form in f.overloads:
            if f.function and _exists(f):
                yield Callee(f, form, False)
            if f.method and form in f.methods and hasattr(tl.Tensor, f.name):
                yield Callee(f, form, True)


def _exists(f: Function) -> bool:
    module = MODULES[f.namespace]
    return hasattr(module, f.name.removeprefix(f"{f.namespace[1:]}_") if f.namespace else f.name)


def mixed(callee: Callee) -> Iterator[tuple[int, dict[str, str]]]:
    """How many arguments stand by position, and how the others are spelled: {schema's name: keyword}."""
    free = [a for a in callee.args if not a.keyword_only or by_position(callee.function.name)]
    for k in range(len(free), -1, -1):
        yield k, {a.name: callee.spelled(a)[0] for a in callee.args[k:]}
    for a in callee.args:
        for other in callee.spelled(a)[1:]:
            yield 0, {b.name: other if b is a else callee.spelled(b)[0] for b in callee.args}


def answer(callee: Callee, make: row_samples.Make, k: int, names: dict[str, str], backwards: bool) -> Any:
    """The result, or the error, of fresh arguments."""
    tl.manual_seed(0)
    values = make()
    own = values[: len(values) - len(callee.args)] + values[len(values) - len(callee.args) :][:k]
    source = dict(zip((a.name for a in callee.args), values[-len(callee.args) :] if callee.args else []))
    keywords = {shown: source[name] for name, shown in names.items()}
    if backwards:
        keywords = dict(reversed(keywords.items()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return callee(own, keywords)
    except Exception as error:
        return error


def same(a: Any, b: Any) -> bool:
    """Equal results, or errors of one type."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Exception):
        return True
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if not isinstance(a, tl.Tensor):
        return a == b or a != a
    if (a.dtype, a.shape, a.layout) != (b.dtype, b.shape, b.layout):
        return False
    return repr(a.to_dense().tolist()) == repr(b.to_dense().tolist())


UNINITIALIZED = {
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
    "resize_",
}
CALLEES = [c for c in callees() if c.function.name not in UNINITIALIZED | VARIADIC]


@pytest.mark.parametrize("callee", CALLEES, ids=lambda c: c.name)
def test_keywords_are_the_positions_they_name(callee):
    make = row_samples.good(callee.form.row)
    if make is None and row_samples.needs_lapack(callee.form.row):
        pytest.skip("no LAPACK")
    assert make is not None, "no good call of this row: give row_samples one"
    forms = list(mixed(callee))
    want = answer(callee, make, *forms[0], False)
    assert isinstance(want, Exception) == (callee.function.name in REFUSED), want
    for k, names in forms:
        for backwards in (False, True):
            result = answer(callee, make, k, names, backwards)
            assert same(result, want), f"{k} by position, {names}: {result!r} instead of {want!r}"


@pytest.mark.parametrize("name", sorted(VARIADIC))
def test_what_takes_any_number_of_tensors_has_no_name_for_them(name):
    for keyword in ("tensors", "matrices", "operands", "input", "self"):
        with pytest.raises(TypeError):
            getattr(tl, name)(**{keyword: [tl.ones(2, 2)]})
