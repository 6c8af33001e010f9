"""`python -m tools.operator_rules [--page]`: the rules of each operator, and the rows that a rule table lacks.

Fields of the row and functions of `optable/rules/` are the rules that opgen reads. The packages register all other
rules in the rule tables of `tl_core/base/rule_table.py`. `docs/design/operator-rules.md` includes the page. The command
fails if a table lacks a row that it must have.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.packages import ROOT

CORE = ROOT / "packages" / "tl-core"
sys.path.insert(0, str(CORE))

from opgen import collect, name_rules, stored_dtypes  # noqa: E402 - needs the path above
from opgen.facts import has_data_shape  # noqa: E402 - needs the path above
from opgen.row import Row  # noqa: E402
from opgen.shape_rules import implied  # noqa: E402

# The modules that register rules when they are imported.
MODULES = (
    *("tl_core.sparse_layouts.rules", "tl_core.sparse_layouts.semi_structured", "tl_core.nested"),
    *("tl_core.nested.strided_operators", "tl_core.masked", "tl_core.subclasses.fake_rules"),
    *("tl_core.operators.public.handlers", "tl_core.array_api", "tl_autograd.flop_formulas"),
    *("tl_nn.utils.expanded_weights.per_sample_function", "tl_quantization", "tl_distributed.tensor"),
    *("tl_compiler.decompositions", "tl_compiler.tracer.symbolic_fakes", "tl_compiler.export.functional"),
    *("tl_compiler.compat.experimental.graph_gradual_typechecker", "tl_utils.flop_counter"),
    "tl_compiler.compat.experimental.migrate_gradual_types.constraint_generator",
)


@dataclass(frozen=True)
class Must:
    """The rows that a rule table must have."""

    holds: Callable[[Row], bool]
    why: str
    absent: dict[str, str] = field(default_factory=dict)  # row -> the reason for its absence


def rule_tables() -> dict[str, set[str]]:
    """The operators in each rule table, by kind."""
    for module in MODULES:
        importlib.import_module(module)
    tables = importlib.import_module("tl_core.base.rule_table").RULE_TABLES
    return {kind: {_name(key) for key in table} for kind, table in sorted(tables.items())}


def _name(key: Any) -> str:
    """The operator's name of a key, without the namespace: a text, an operator or a function."""
    text = key if isinstance(key, str) else str(getattr(key, "_native_name", getattr(key, "__name__", key)))
    return text.rpartition("::")[2].removesuffix(".default")


def pointwise(row: Row) -> bool:
    """Whether a function of PyTorch's main namespace computes each element of its result from one of each input."""
    public = row.function and not row.base.startswith("_") and not row.namespace
    return bool(row.elementwise) and public and not row.base.endswith(("_backward", "_error"))


MUST = {
    "jagged": Must(
        pointwise, "the row is elementwise",
        dict.fromkeys(("complex", "polar"), "PyTorch's jagged tensors lack it"),
    ),
    "symbolic sizes": Must(has_data_shape, 'the row has shape="data"'),
}  # fmt: skip


def missing(
    rows: list[Row], tables: Mapping[str, set[str]], musts: Mapping[str, Must] = MUST
) -> Iterator[str]:
    """A line for each row that a table must have and lacks."""
    for kind, must in musts.items():
        for row in rows:
            if must.holds(row) and not {row.name, row.base} & tables[kind] and row.name not in must.absent:
                yield f"{row.where}: {row.name} is missing in the rule table {kind!r}: {must.why}"


def words(row: Row, rows: dict[str, Row], reductions: set[str]) -> dict[str, str]:
    """The rules in the fields of a row, a word each."""
    grad = row.grad if isinstance(row.grad, str) else "formula"
    shape = "rule" if row.shape not in ("", "data") else row.shape
    return {
        "grad": grad.partition(":")[0],
        "jvp": row.jvp.partition(":")[0],
        "batch": row.batch.partition(":")[0],
        "inverse": "formula" if row.inverse else "",
        "shape": shape or ("implied" if implied(row, rows) else ""),
        "names": name_rules.rule(row, reductions),
        "stored": {0: "", stored_dtypes.ALL: "all"}.get(stored_dtypes.accepted(row), "some"),
        "autocast": row.autocast,
    }


def page() -> str:
    """The rules of all rows in Markdown: a section for each file of rows."""
    rows = collect.rows()
    by_name = {row.name: row for row in rows}
    reductions = name_rules.reductions_of(rows)
    names = rule_tables()
    lines: list[str] = []
    family = ""
    for row in rows:
        cells = words(row, by_name, reductions)
        if row.family != family:
            family = row.family
            lines += [
                "",
                f"### optable/{family}.py",
                "",
                f"| operator | {' | '.join(cells)} | other tables |",
            ]
            lines += [f"|{'---|' * (len(cells) + 2)}"]
        forms = {schema.name for _, schema in row.forms()} | {row.base}
        others = [title for title, known in names.items() if forms & known]
        if row.sparse:
            others.insert(0, "sparse kernel")
        lines.append(f"| `{row.name}` | {' | '.join(cells.values())} | {', '.join(others)} |")
    return "\n".join(lines).lstrip() + "\n"


def main() -> int:
    """Prints the page, or the missing entries."""
    if "--page" in sys.argv:
        print(page(), end="")
        return 0
    tables = rule_tables()
    faults = list(missing(collect.rows(), tables))
    print("\n".join([*faults, f"{len(tables)} rule tables, {len(faults)} missing entries"]))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
