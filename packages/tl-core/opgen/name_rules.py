"""Which names an operator's results have: the rules of the manual's page on name inference.

A row's rule follows from what it is: elementwise rows keep the names of one tensor or unify those of several, and rows
with `keepdim` reduce. RULES has the others. What is made of other operators is left to those; what has no rule refuses
names.
"""

from __future__ import annotations

from opgen.operators import forms
from opgen.row import Row

_RULES = {
    "Keep": """
        _conj _log_softmax _max_pool _neg_view _softmax _to_copy argsort bernoulli bernoulli_ cauchy_ celu
        clone contiguous cummax cummin cumprod cumsum deg2rad detach dropout_ empty_like expand exponential_
        fill fill_ frexp full_like gelu geometric_ index_fill log_normal_ logcumsumexp logit nan_to_num
        native_dropout normal_ ones_like polygamma rad2deg rand_like randint_like randn_like random_ round
        selu slice softshrink sort split split_with_sizes topk uniform_ unsafe_chunk unsafe_split
        unsafe_split_with_sizes zero_ zeros_like
    """,
    "Unify": "cat clamp copy_ div float_power heaviside ldexp masked_fill nextafter normal rsub",
    "Remove": "select unbind",
    "Squeeze": "squeeze squeeze_",
    "Permute": "permute t t_ transpose transpose_",
    "Contract": "addmm addmv baddbmm bmm dot matmul mm mv vdot",
    "Pairs": "_distances",
    "Diagonal": "diagonal",
    "Select": "masked_select",
    "Resize": "resize_ resize_as_",
    "Drop": "as_strided new_empty new_empty_strided new_full new_ones new_zeros",
    "Equal": "equal",
    "Through": "_local_scalar_dense",
}
RULES = {base: rule for rule, bases in _RULES.items() for base in bases.split()}
# Their results have a dimension more or less than `keepdim` tells.
_NOT_REDUCTIONS = frozenset({"nanquantile", "quantile", "unsum"})


def rule(row: Row, reductions: set[str]) -> str:
    """The rule of a row, given the names of operators of which a form has `keepdim`."""
    if row.base in RULES:
        return RULES[row.base]
    left_open = "Through" if row.composite else "Refused"
    if row.elementwise:
        return "Keep" if sum(a.is_tensor for a in row.args) == 1 else "Unify"
    if row.base not in reductions or row.base in _NOT_REDUCTIONS or row.base.endswith("_backward"):
        return left_open
    if any(a.name == "keepdim" for a in row.args):
        return "Reduce"
    if row.composite:
        return "Through"
    return "Reduce" if sum(a.is_tensor for a in row.args) == 1 else "Unify"


def name_rules_cpp(rows: list[Row]) -> str:
    """`kNameRules`: a rule an operator, in the order of the table."""
    reductions = {row.base for row in rows if any(a.name == "keepdim" for a in row.args)}
    if missing := RULES.keys() - {row.base for row in rows}:
        raise ValueError(f"there are no rows for the names of {', '.join(sorted(missing))}")
    listed = [f"    NameRule::{rule(form.row, reductions)},  // {form.schema.name}" for form in forms(rows)]
    return "\n".join([
        '#include "dispatch/names.h"', "", "namespace tl {", "extern const NameRule kNameRules[] = {", *listed, "};",
        "}  // namespace tl", "",
    ])  # fmt: skip
