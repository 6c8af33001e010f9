"""One call over many tensors."""

from __future__ import annotations

from opgen.row import Foreach, Row

from optable import arithmetic, exponential, rounding, special, trigonometric

_FAMILIES = (arithmetic, exponential, rounding, special, trigonometric)
_UNARY = sorted(row.base for family in _FAMILIES for row in family.ROWS if row.foreach)
# The operator, the names of its second argument as a list of tensors, of numbers, and as one number.
_BINARY = (
    ("add", "add.Tensor", "other", "scalars", "scalar"),
    ("sub", "sub.Tensor", "other", "scalars", "scalar"),
    ("mul", "mul.Tensor", "other", "scalars", "scalar"),
    ("div", "div.Tensor", "other", "scalars", "scalar"),
    ("clamp_min", "clamp_min", "other", "scalars", "scalar"),
    ("clamp_max", "clamp_max", "other", "scalars", "scalar"),
    ("maximum", "clamp_min", "other", "scalars", "scalar"),
    ("minimum", "clamp_max", "other", "scalars", "scalar"),
    ("pow", "pow.Tensor_Tensor", "exponent", "exponent", "exponent"),
)
_TERNARY = ("addcmul", "addcdiv")


def _both(name: str, overload: str, arguments: str, each: str, doc: str) -> list[Row]:
    """The form that makes tensors and the one that writes over the first list."""
    element, _, kind = each.partition(".")
    dot = f".{overload}" if overload else ""
    return [
        Foreach(f"_foreach_{name}{dot}(Tensor[] self{arguments}) -> Tensor[]", each=each, doc=doc),
        Foreach(
            f"_foreach_{name}_{dot}(Tensor(a!)[] self{arguments}) -> ()",
            each=f"{element}_.{kind}" if kind else f"{element}_",
            doc=f"{doc[:-1]}, in place.",
        ),
    ]


def _unary(name: str) -> list[Row]:
    return _both(name, "", "", name, f"`{name}` of every tensor.")


def _binary(name: str, each: str, tensors: str, numbers: str, number: str) -> list[Row]:
    alpha = ", *, Scalar alpha=1" if name in ("add", "sub") else ""
    doc = f"`{name}` of every tensor"
    rows = [
        *_both(name, "List", f", Tensor[] {tensors}{alpha}", each, f"{doc} and that of another list."),
        *_both(name, "ScalarList", f", Scalar[] {numbers}", each, f"{doc} and a number of a list."),
        *_both(name, "Scalar", f", Scalar {number}", each, f"{doc} and one number."),
    ]
    if name in ("add", "mul", "div"):
        only = alpha if name == "add" else ""
        rows += _both(name, "Tensor", f", Tensor other{only}", each, f"{doc} and one other.")
    return rows


def _ternary(name: str) -> list[Row]:
    lists, doc = ", Tensor[] tensor1, Tensor[] tensor2", f"`{name}` over three lists of tensors"
    return [
        *_both(name, "Scalar", f"{lists}, Scalar value=1", name, f"{doc}."),
        *_both(name, "ScalarList", f"{lists}, Scalar[] scalars", name, f"{doc}, each with its factor."),
    ]


def _lerp() -> list[Row]:
    lists, doc = ", Tensor[] tensors1", "`lerp` from every tensor to that of another list"
    return [
        *_both("lerp", "List", f"{lists}, Tensor[] weights", "lerp.Tensor", f"{doc}."),
        *_both("lerp", "ScalarList", f"{lists}, Scalar[] weight", "lerp.Tensor", f"{doc}."),
        *_both("lerp", "Scalar", f"{lists}, Scalar weight", "lerp.Tensor", f"{doc}."),
    ]


ROWS = [
    *(row for name in _UNARY for row in _unary(name)),
    *(row for binary in _BINARY for row in _binary(*binary)),
    *(row for name in _TERNARY for row in _ternary(name)),
    *_lerp(
    ),
    Foreach(
        "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", each="pow.Scalar",
        doc="One number to the power of every tensor.",
    ),
    Foreach(
        "_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", each="mm",
        doc="`mm` of two lists' matrices.",
    ),
    Foreach(
        "_foreach_max(Tensor[] self) -> Tensor[]", shape="[[] for t in self]", each="max",
        doc="The largest element of every tensor.",
    ),
    Foreach(
        "_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", each="clone",
        doc="A copy of every tensor.",
    ),
    Foreach(
        "_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", each="copy_",
        doc="Every tensor overwritten by that of another list.",
    ),
    Foreach(
        "_foreach_zero_(Tensor(a!)[] self) -> ()", each="zero_",
        doc="Zero written to every element.",
    ),
]  # fmt: skip
