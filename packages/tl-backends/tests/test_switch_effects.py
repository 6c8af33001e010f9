"""Every switch changes what is computed, or its documentation says that there is nothing to switch."""

import ast
import importlib
import inspect
import itertools
import pkgutil

import pytest

import tl_core as tl
from tl_backends import backends
from tl_core.functions import nn as nn_functions
from tl_core.settings import switches

for _info in pkgutil.iter_modules(backends.__path__):
    if _info.name != "xeon":
        importlib.import_module(f"{backends.__name__}.{_info.name}")


def attention():
    x = tl.arange(8.0).reshape(1, 2, 4)
    try:
        return nn_functions.scaled_dot_product_attention(x, x, x).tolist()
    except RuntimeError as error:
        return str(error)[:31]


def order_of_einsum():
    """The shapes that matrix products have, which tell the order."""
    from tl_core.subclasses.python_dispatch import TorchDispatchMode

    class Shapes(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func in (tl.ops.aten.mm.default, tl.ops.aten.bmm.default):
                self.seen.append(tuple(tuple(a.shape) for a in args))
            return func(*args, **(kwargs or {}))

    # from the left 20 * 20 * 20, 20 * 20 * 2 and 20 * 2 * 1 multiplications; from the right far fewer
    operands = [tl.ones(n, m) for n, m in ((20, 20), (20, 20), (20, 2), (2, 1))]
    with Shapes() as shapes:
        tl.einsum("ab,bc,cd,de->ae", *operands)
    return shapes.seen


def optimal_order():
    """Multiplications of an order that the cheapest pair misses: the cheapest first pair makes the rest dear."""
    from tl_core.subclasses.python_dispatch import TorchDispatchMode

    class Work(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is tl.ops.aten.mm.default:
                self.total += args[0].shape[0] * args[0].shape[1] * args[1].shape[1]
            return func(*args, **(kwargs or {}))

    sizes = (20, 3, 5, 4, 30)
    with Work() as work:
        tl.einsum("ab,bc,cd,de->ae", *(tl.ones(n, m) for n, m in itertools.pairwise(sizes)))
    return work.total


# name of the switch: another value, what is measured
EFFECTS = {
    "backends.opt_einsum.enabled": (False, order_of_einsum),
    "backends.opt_einsum.strategy": ("optimal", optimal_order),
}
# Both together: each alone still leaves a way.
ATTENTION = ("backends.cuda.flash_sdp", "backends.cuda.math_sdp")
# Its effect is measured where encoders are, in tl-nn.
ELSEWHERE = {"backends.mha.fastpath"}


def declared():
    return sorted(name for name in switches.values() if name.startswith("backends."))


def attribute_docs(module):
    """What stands below the attributes of a module and of its classes."""
    matches = {}
    for body in [ast.parse(inspect.getsource(module))] + [
        n for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.ClassDef)
    ]:
        for statement, after in zip(body.body, body.body[1:], strict=False):
            target = getattr(statement, "target", None) or (getattr(statement, "targets", None) or [None])[0]
            if isinstance(target, ast.Name) and isinstance(after, ast.Expr):
                matches[target.id] = (
                    ast.literal_eval(after.value) if isinstance(after.value, ast.Constant) else ""
                )
    return matches


FUNCTIONS = {
    "mem_efficient_sdp": "enable_mem_efficient_sdp",
    "cudnn_sdp": "enable_cudnn_sdp",
    "fp16_bf16_reduction_math_sdp": "allow_fp16_bf16_reduction_math_sdp",
    "preferred_BlasBackend": "preferred_blas_library",
    "preferred_LinalgBackend": "preferred_linalg_library",
    "preferred_ROCmFABackend": "preferred_rocm_fa_library",
}


def documentation(name):
    _, library, *path = name.split(".")
    module = importlib.import_module(f"{backends.__name__}.{library}")
    if path[-1] in FUNCTIONS:
        return getattr(module, FUNCTIONS[path[-1]]).__doc__
    return attribute_docs(module)[path[-1]]


def test_there_are_switches():
    assert len(declared()) >= 22


@pytest.mark.parametrize("name", declared())
def test_a_switch_does_something_or_says_that_there_is_nothing(name):
    if name in EFFECTS:
        other, measure = EFFECTS[name]
        before, value = measure(), switches.set(name, other)
        try:
            assert measure() != before
        finally:
            switches.set(name, value)
        assert measure() == before
    elif name not in (*ATTENTION, *ELSEWHERE):
        text = " ".join(documentation(name).split()).lower()
        assert "nothing to switch" in text or "without effect" in text


@pytest.mark.filterwarnings("ignore:.torch.backends.cuda.sdp_kernel")
def test_attention_has_to_be_allowed():
    before = attention()
    cuda = backends.cuda
    for flash, math, works in ((True, False, True), (False, True, True), (False, False, False)):
        with cuda.sdp_kernel(enable_flash=flash, enable_math=math):
            assert (attention() == before) is works
    with cuda.sdp_kernel(enable_flash=False, enable_math=False):
        assert attention() == "No viable backend for scaled_do"
    cuda.enable_flash_sdp(False)
    cuda.enable_math_sdp(False)
    assert attention() != before
    cuda.enable_flash_sdp(True)
    cuda.enable_math_sdp(True)
    assert attention() == before


def test_the_order_of_contraction():
    with backends.opt_einsum.flags(enabled=False):
        products = order_of_einsum()
    assert [{size for shape in p for size in shape} for p in products] == [{20}, {20, 2}, {20, 2, 1}]
    sizes = (20, 3, 5, 4, 30)
    with backends.opt_einsum.flags(strategy="optimal"):
        result = optimal_order()
    assert result == fewest(sizes) < optimal_order()


def fewest(sizes):
    """The least number of multiplications of a chain of matrices (Cormen et al., 15.2)."""
    n = len(sizes) - 1
    best = {(i, i): 0 for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best[i, j] = min(
                best[i, k] + best[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
            )
    return best[0, n - 1]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 12])
def test_all_orders_give_the_same(count):
    letters = "abcdefghijklmnop"
    equation = ",".join(letters[i] + letters[i + 1] for i in range(count)) + f"->{letters[0]}{letters[count]}"
    operands = [tl.randint(-3, 4, (2, 2)).double() for _ in range(count)]
    expected = tl.eye(2, dtype=tl.float64)
    for operand in operands:
        expected = expected @ operand
    for enabled, strategy in ((True, "auto"), (True, "optimal"), (False, "auto")):
        with backends.opt_einsum.flags(enabled=enabled, strategy=strategy):
            assert tl.equal(tl.einsum(equation, *operands), expected)
            traced = tl.einsum("ii,i,jk->kj", tl.eye(3), tl.arange(3.0), tl.ones(2, 2))
            assert traced.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_the_precision_of_products_has_several_names():
    try:
        backends.fp32_precision = "tf32"
        assert tl.get_float32_matmul_precision() == "high" and backends.cuda.matmul.allow_tf32
        backends.cuda.matmul.fp32_precision = "bf16"
        assert (backends.fp32_precision, tl.get_float32_matmul_precision()) == ("bf16", "medium")
        with pytest.raises(RuntimeError, match=r"fp32_precision must be one of .*, but got 'fp16'"):
            backends.fp32_precision = "fp16"
    finally:
        tl.set_float32_matmul_precision("highest")
