"""The names of an operator's results: the rules of the manual's page on name inference.

The field `names` of a row has its rule. Without the field, elementwise rows keep the names of one tensor or unify the
names of several, and rows with `keepdim` reduce. Rows that are made of other operators leave names to these, and any
other row refuses names.
"""

from __future__ import annotations

from opgen.operators import forms
from opgen.row import Row

# The values of the field, each a `NameRule` of dispatch/names.h.
RULES = (
    *("keep", "unify", "remove", "squeeze", "permute", "contract", "pairs", "diagonal", "select"),
    *("resize", "drop", "equal", "through", "reduce", "refused"),
)


def reductions_of(rows: list[Row]) -> set[str]:
    """The names of operators with `keepdim` in any overload."""
    return {row.base for row in rows if any(a.name == "keepdim" for a in row.args)}


def rule(row: Row, reductions: set[str]) -> str:
    """The rule of a row, given the reductions of all rows."""
    if row.names and row.names not in RULES:
        raise ValueError(
            f"{row.where}: the row {row.name} has names={row.names!r}; known are {', '.join(RULES)}"
        )
    if row.names:
        return row.names
    default = "through" if row.composite else "refused"
    if row.elementwise:
        return "keep" if sum(a.is_tensor for a in row.args) == 1 else "unify"
    if row.base not in reductions or row.base.endswith("_backward"):
        return default
    if any(a.name == "keepdim" for a in row.args):
        return "reduce"
    if row.composite:
        return "through"
    return "reduce" if sum(a.is_tensor for a in row.args) == 1 else "unify"


def name_rules_cpp(rows: list[Row]) -> str:
    """`kNameRules`: a rule an operator, in the order of the table."""
    reductions = reductions_of(rows)
    listed = [
        f"    NameRule::{rule(form.row, reductions).capitalize()},  // {form.schema.name}"
        for form in forms(rows)
    ]
    return "\n".join([
        '#include "dispatch/names.h"', "", "namespace tl {", "extern const NameRule kNameRules[] = {", *listed, "};",
        "}  // namespace tl", "",
    ])  # fmt: skip
