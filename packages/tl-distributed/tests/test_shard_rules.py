"""Each rule of placements against the operator itself: cut operands, computed on each piece, must give the pieces.

A call of each row is cut into two and into three along every combination of dimensions that its rule derives, also
unevenly. The operator's result for the whole decides. No process group takes part.
"""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path

import pytest

import tl_core as tl
from tl_core.base.row_facts import facts
from tl_distributed.groups.device_mesh import init_device_mesh
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, dispatch
from tl_distributed.tensor.operator_call import OperatorCall, argument_names, call_by_name
from tl_distributed.tensor.placement_types import _NormPartial
from tl_distributed.tensor.strategies import PLACEMENTS, strategies_of

TEXTS = facts("shards")
DRAWN = tl.Generator().manual_seed(5)


def tensor(dtype, shape, values):
    if values is not None:
        return tl.tensor(values, dtype=getattr(tl, dtype)).reshape(shape)
    if dtype.startswith("complex"):
        return tl.complex(*(tl.rand(shape, dtype=tl.float64, generator=DRAWN) + 0.5 for _ in "ab"))
    if dtype.startswith("float"):
        return tl.rand(shape, dtype=getattr(tl, dtype), generator=DRAWN) + 0.5
    return (tl.rand(shape, generator=DRAWN) * 3).to(getattr(tl, dtype))


def argument(value):
    if isinstance(value, list):
        return [argument(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return getattr(tl, value["dtype"])
    dtype, shape = next(iter(value.items()))
    return tensor(dtype, shape, value.get("values"))


def recorded():
    for line in (Path(__file__).parent / "shard_calls.jsonl").read_text().splitlines():
        name, args, kwargs = json.loads(line)
        yield name, args, kwargs


def operator(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(tl.ops.aten, base), overload or "default")


def flat(value):
    if isinstance(value, tl.Tensor):
        return [value]
    return [t for v in value for t in flat(v)] if isinstance(value, (list, tuple)) else []


def replace(value, tensors):
    if isinstance(value, tl.Tensor):
        return next(tensors)
    return type(value)(replace(v, tensors) for v in value) if isinstance(value, (list, tuple)) else value


def computed(func, named, tensors, changes=None, local=None, count=1, rank=0):
    remaining = iter(tensors)
    own = {name: replace(value, remaining) for name, value in named.items()} | (changes or {})
    result = None if local is None else local(own, count, rank)
    if result is not None:
        return flat(result)
    return flat(call_by_name(func, own))


def cut(whole, placement, count):
    """What each of several ranks holds of a tensor."""
    if isinstance(placement, Shard):
        return [placement.piece(whole, count, rank).clone() for rank in range(count)]
    if isinstance(placement, Partial):
        terms = [
            tl.rand(whole.shape, dtype=tl.float64, generator=DRAWN).to(whole.dtype) for _ in range(count - 1)
        ]
        return [*terms, whole * (count if placement.reduce_op == "avg" else 1) - sum(terms)]
    return [whole.clone() for _ in range(count)]


def same(first, second):
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.is_floating_point() or first.is_complex():
        return bool(tl.allclose(first, second, rtol=1e-8, atol=1e-10, equal_nan=True))
    return bool((first == second).all())


REDUCTIONS = {
    "sum": lambda x: x.sum(0),
    "avg": lambda x: x.mean(0),
    "max": lambda x: x.any(0) if x.dtype == tl.bool else x.amax(0),
    "min": lambda x: x.all(0) if x.dtype == tl.bool else x.amin(0),
    "product": lambda x: x.prod(0),
}


def fits(whole, parts, placement):
    """Whether parts make a tensor by a placement."""
    if isinstance(placement, Partial):
        is_alike = all(part.shape == whole.shape for part in parts)
        if isinstance(placement, _NormPartial):
            norms = placement.root(REDUCTIONS[placement.reduce_op](placement.power(tl.stack(parts))))
            return is_alike and same(norms.to(whole.dtype), whole)
        return is_alike and same(REDUCTIONS[placement.reduce_op](tl.stack(parts)).to(whole.dtype), whole)
    return all(same(*pair) for pair in zip(parts, cut(whole, placement, len(parts)), strict=True))


def is_testable(strategy, tensors):
    """Terms of the largest or of products aren't drawn, and terms of low precision aren't compared."""
    for placement, tensor in zip(strategy.operands, tensors, strict=True):
        if isinstance(placement, Partial):
            is_wide = tensor.dtype in (tl.float64, tl.complex128)
            if placement.reduce_op not in ("sum", "avg") or not is_wide:
                return False
    return True


def wrong_strategies(name, args, kwargs, count):
    """The derived strategies of a call, and those of them that aren't true."""
    func = operator(name)
    named = argument_names(func, args, kwargs)
    tensors = flat(list(named.values()))
    wholes = computed(func, named, [t.clone() for t in tensors])
    metas = [tl.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]
    results = computed(func, named, metas)
    remaining = iter(metas)
    without_elements = {key: replace(value, remaining) for key, value in named.items()}
    call = OperatorCall(func, without_elements, results, lambda operand, dim: count, count)
    derived, wrong = 0, []
    for strategy in strategies_of(call):
        assert len(strategy.operands) == len(tensors) and len(strategy.results) == len(wholes), strategy
        if not is_testable(strategy, tensors):
            continue
        derived += any(not isinstance(p, Replicate) for p in strategy.operands)
        pieces = [cut(t, p, count) for t, p in zip(tensors, strategy.operands, strict=True)]
        try:
            parts = []
            for rank in range(count):
                sizes = local_sizes(call, strategy, wholes[0], rank, count)
                parts.append(
                    computed(func, named, [p[rank] for p in pieces], sizes, strategy.local, count, rank)
                )
        except (RuntimeError, IndexError, TypeError) as error:
            wrong.append((name, strategy, error))
            continue
        for i, (full, placement) in enumerate(zip(wholes, strategy.results, strict=True)):
            if not fits(full, [part[i] for part in parts], placement):
                wrong.append((name, strategy))
    return derived, wrong


def local_sizes(call, strategy, whole, rank, count):
    placement, sizes = strategy.results[0], list(whole.shape)
    if isinstance(placement, Shard):
        sizes[placement.dim] = placement.local_shard_size_and_offset(sizes[placement.dim], count, rank)[0]
    return dispatch._local_sizes(call, whole, tuple(sizes))


WITHOUT_VALUES = ("empty_like", "new_empty", "new_empty_strided")


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("count", [2, 3])
def test_recorded_calls(count):
    derived, wrong = 0, []
    for name, args, kwargs in recorded():
        if name not in WITHOUT_VALUES:
            number, failures = wrong_strategies(
                name, argument(args), {k: argument(v) for k, v in kwargs.items()}, count
            )
            derived += number
            wrong += failures
    assert not wrong, wrong[:5]
    assert derived > 900


def elementwise_call(name, dtype):
    """A call with operands of several sizes, of which one is repeated."""
    func = operator(name)
    shapes = iter([(4, 6), (6,), (4, 1), (4, 6)])
    args, kwargs = [], {}
    for a in func._schema.arguments:
        kind = str(a.type)
        if "Tensor" in kind:
            value = tensor(dtype, next(shapes), None)
            value = value > 1 if a.name in ("condition", "mask") else value
        elif a.has_default_value() or "Optional" in kind:
            value = a.default_value
        else:
            value = {"int": 2, "float": 0.5, "bool": False, "str": "none"}.get(kind, 1)
        if a.kwarg_only:
            kwargs[a.name] = value
        else:
            args.append(value)
    return args, kwargs


def elementwise_names():
    for name, text in TEXTS.items():
        if text.startswith("elementwise") and not operator(name)._schema.is_mutable:
            yield name


@pytest.mark.parametrize("count", [2, 3])
def test_elementwise_rows(count):
    wrong, uncalled = [], []
    for name in elementwise_names():
        for dtype in ("float64", "int64", "complex128", "bool"):
            args, kwargs = elementwise_call(name, dtype)
            try:
                operator(name)(*args, **kwargs)
            except (RuntimeError, TypeError, ValueError):
                continue  # the row does not take this type
            wrong += wrong_strategies(name, args, kwargs, count)[1]
            break
        else:
            uncalled.append(name)
    assert not wrong, wrong[:5]
    assert len(uncalled) <= 8, uncalled


def test_each_text_has_a_call():
    called = {name for name, *_ in recorded()}
    missing = [
        name
        for name, text in TEXTS.items()
        if not text.startswith(("out ", "elementwise", "random", "replicate"))
        and not operator(name)._schema.is_mutable
        and name not in called
    ]
    assert missing == ["_singular_norm", "_singular_norm_backward"]


def test_functions_belong_to_texts():
    of_texts = {name.partition(".")[0] for name, text in TEXTS.items() if text.startswith("function")}
    assert of_texts <= set(PLACEMENTS) and {name.partition(".")[0] for name in TEXTS} >= set(PLACEMENTS)


@pytest.mark.parametrize(
    ("name", "wrong_text"),
    [
        ("mm", "ik, kj -> ik"),
        ("mm", "ik, jk -> ij"),
        ("linear", "...k, jk, j -> ...j"),
        ("_softmax", "elementwise"),
        ("sum.dim_IntList", "dims dim?; reduce: max"),
        ("cumsum", "dims"),
        ("gather", "..., ... -> ..."),
        ("exp", "elementwise; terms: self"),
        ("embedding", "vc, ... -> ...c"),
        ("flip", "elementwise"),
    ],
)
def test_a_wrong_text_is_noticed(name, wrong_text, monkeypatch):
    monkeypatch.setitem(TEXTS, name, wrong_text)
    calls = [(args, kwargs) for called, args, kwargs in recorded() if called == name]
    calls = [(argument(a), {k: argument(v) for k, v in kw.items()}) for a, kw in calls] or [
        elementwise_call(name, "float64")
    ]
    assert len(calls) > 0
    noticed = False
    for args, kwargs in calls:
        for count in (2, 3):
            try:
                noticed |= bool(wrong_strategies(name, args, kwargs, count)[1])
            except (RuntimeError, IndexError, AssertionError):
                noticed = True
    assert noticed and math.isfinite(len(calls))


# ---- changed texts ---------------------------------------------------------------------------------------------------


# Operators that are linear in their first operand, so that terms of it are right, though their texts don't say so.
LINEAR = {
    "_adaptive_avg_pool_adjoint", "_attention_backward", "_batch_norm_backward", "_ctc_backward",
    "_distances_backward", "_grid_sample", "_grid_sample_adjoint", "_grid_sample_derivative", "_put_by_index",
    "_softmax_backward_data", "_unpool", "cholesky_solve", "linalg_cross", "unsafe_split.Tensor",
}  # fmt: skip
EQUAL = {"sum": ("any",), "product": ("all",)}  # reductions of truth values that give the same


def changed_texts(name, text):
    """The text of a row with one mistake, in each way that applies."""
    base, _, rest = text.partition(";")
    end = f";{rest}" if rest else ""
    if "reduce:" in text:
        kind = re.search(r"reduce: (\w+)", text)[1]
        equal = {name.partition(".")[0]: kind for kind, names in EQUAL.items() for name in names}
        reductions = [other for other in REDUCTIONS if other not in (kind, equal.get(name.partition(".")[0]))]
        yield from (text.replace(f"reduce: {kind}", f"reduce: {other}") for other in reductions)
    if "->" in base and "/" not in base and "[" not in base:
        operands, results = base.split("->")
        letters = sorted(set(re.findall("[a-z]", results)))
        if len(letters) == 2:  # the dimensions of the result exchanged
            exchange = str.maketrans("".join(letters), "".join(reversed(letters)))
            yield f"{operands}->{results.translate(exchange)}{end}"
        if "_" in operands and operands.count("_") == operands.count(",") + 1 and "{" not in base:
            yield f"{operands.replace('_', 'x')}->{results.replace('_', 'x')}{end}"
        if "+" in operands:  # no summand
            yield text.replace("+", "")
        for operand in re.findall(r"\b[a-z]{2}\b", operands):  # the dimensions of an operand exchanged
            yield text.replace(operand, operand[::-1], 1)
    if base.startswith("dims "):
        yield f"dims{end}"
    if base.startswith("dims") and "padded" in text:
        yield "dims"
    if not base.startswith("elementwise"):
        yield "elementwise"
    if "terms" not in text and "reduce" not in text and name not in LINEAR:
        yield f"{text}; terms: {operator(name)._schema.arguments[0].name}"


def strategies_at(calls, name):
    """The strategies that the text of a row derives for its calls, by the number of the call."""
    func, result = operator(name), set()
    for number, (args, kwargs) in enumerate(calls):
        named = argument_names(func, argument(args), {key: argument(v) for key, v in kwargs.items()})
        tensors = flat(list(named.values()))
        metas = [tl.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]
        results = computed(func, named, metas)
        remaining = iter(metas)
        without_elements = {key: replace(value, remaining) for key, value in named.items()}
        call = OperatorCall(func, without_elements, results, lambda operand, dim: 2, 2)
        try:
            strategies = strategies_of(call)
        except Exception:  # whatever a wrong text causes: it is noticed
            result.add((number, "an error"))
            continue
        result |= {(number, s.operands, s.results) for s in strategies if is_testable(s, tensors)}
    return result


def is_noticed(calls, name):
    for args, kwargs in calls:
        for count in (2, 3):
            values = argument(args), {key: argument(value) for key, value in kwargs.items()}
            try:
                if wrong_strategies(name, *values, count)[1]:
                    return True
            except Exception:  # whatever a wrong text causes: it is noticed
                return True
    return False


@pytest.mark.filterwarnings("ignore")
def test_changed_texts_are_noticed(monkeypatch, times):
    """200 texts with a mistake in the long form; one that derives nothing else than the right text is no mistake."""
    calls = {}
    for name, args, kwargs in recorded():
        if name not in WITHOUT_VALUES and name in TEXTS:
            calls.setdefault(name, []).append((args, kwargs))
    texts = [
        (name, TEXTS[name]) for name in calls if not TEXTS[name].startswith(("function", "view", "sizes"))
    ]
    changes = [(name, new) for name, text in texts for new in changed_texts(name, text) if new != text]
    random.Random(1).shuffle(changes)
    count, unnoticed = 0, []
    for name, new in changes:
        if count == times(200, 15):
            break
        right = strategies_at(calls[name], name)
        with monkeypatch.context() as patch:
            patch.setitem(TEXTS, name, new)
            if strategies_at(calls[name], name) <= right:
                continue
            count += 1
            if not is_noticed(calls[name], name):
                unnoticed.append((name, new))
    print(f"{len(unnoticed)} of {count} changed texts were not noticed")
    assert count >= times(200, 15) and len(unnoticed) <= 0.01 * count, unnoticed


# ---- calls without Python --------------------------------------------------------------------------------------------
def placed(value, mesh, placement):
    if isinstance(value, tl.Tensor):
        cuts_nothing = placement == Shard(0) and value.dim() == 0
        return DTensor.from_local(value.clone(), mesh, [Replicate() if cuts_nothing else placement])
    return [placed(each, mesh, placement) for each in value] if isinstance(value, (list, tuple)) else value


def described(value):
    """A result as text, with its layout; all bits of the elements."""
    if isinstance(value, DTensor):
        local = value.to_local()
        facts = (value.placements, value.dtype, tuple(value.shape), value.stride(), local.stride())
        return f"{facts} {local.tolist()}"
    return str([described(each) for each in value]) if isinstance(value, (list, tuple)) else repr(value)


def outcome(name, args, kwargs, mesh, placement):
    """The results of a call and its operands afterwards, or its error."""
    own = placed(args, mesh, placement)
    by_name = {key: placed(value, mesh, placement) for key, value in kwargs.items()}
    tl.manual_seed(0)
    try:
        result = operator(name)(*own, **by_name)
    except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    return described([result, own])


@pytest.mark.filterwarnings("ignore")
def test_recorded_calls_have_the_same_results_without_python(world, monkeypatch):
    requests, call = [], dispatch.call
    monkeypatch.setattr(dispatch, "call", lambda *args: requests.append(args[0]) or call(*args))
    mesh = init_device_mesh("cpu", (1,))
    different, without_python, total = [], 0, 0
    for name, args, kwargs in recorded():
        if "empty" in name:  # its elements are whatever was there
            continue
        args, kwargs = argument(args), {key: argument(value) for key, value in kwargs.items()}
        for placement in (Replicate(), Shard(0), Partial()):
            first = outcome(name, args, kwargs, mesh, placement)
            outcome(name, args, kwargs, mesh, placement)
            requests.clear()
            third = outcome(name, args, kwargs, mesh, placement)
            total += 1
            without_python += not requests
            if third != first:
                different.append((name, placement, first, third))
    assert not different, different[:3]
    assert without_python >= 0.65 * total, (without_python, total)
