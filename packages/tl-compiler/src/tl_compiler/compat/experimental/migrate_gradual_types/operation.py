"""The signs of constraints."""

__all__ = [
    "op_add",
    "op_consistency",
    "op_div",
    "op_eq",
    "op_gt",
    "op_leq",
    "op_lt",
    "op_matching",
    "op_mod",
    "op_mul",
    "op_neq",
    "op_precision",
    "op_sub",
]

op_add = "+"
op_sub = "-"
op_mul = "*"
op_div = "/"
op_eq = "="
op_neq = "!="
op_imp = "=>"
op_matching = "\u22b3"  # ⊳, has that rank
op_consistency = "~"
op_precision = "\u2291"  # ⊑, says as much or more
op_leq = "\u2264"  # ≤
op_lt = "<"
op_gt = ">"
op_mod = "%"
