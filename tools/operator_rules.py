"""`python -m tools.operator_rules [--page]`: the rules of each operator, and the rows that a table lacks.

Fields of the row and functions of `optable/rules/` are the rules that opgen reads. Other packages have tables by the
operator's name, which TABLES lists. `docs/design/operator-rules.md` includes the page. The command fails if a table
lacks a row that it must have.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tools.packages import ROOT

CORE = ROOT / "packages" / "tl-core"
sys.path.insert(0, str(CORE))

from opgen import collect, name_rules, stored_dtypes  # noqa: E402 - needs the path above
from opgen.row import Row  # noqa: E402
from opgen.shape_rules import implied  # noqa: E402


@dataclass(frozen=True)
class Table:
    """A table by operator outside of the rows."""

    title: str
    module: str
    attributes: str  # the dictionaries or sets of names, with dots
    loads: tuple[str, ...] = ()  # modules that fill the table
    must: Callable[[Row], bool] | None = None  # the rows that the table must have
    why: str = ""
    absent: dict[str, str] = field(default_factory=dict)  # row -> the reason for its absence

    def names(self) -> set[str]:
        """The names in the table, without the namespace."""
        for module in self.loads:
            importlib.import_module(module)
        names: set[str] = set()
        for attribute in self.attributes.split():
            value: Any = importlib.import_module(self.module)
            for part in attribute.split("."):
                value = getattr(value, part)
            names |= {_name(key) for key in value}
        return names


def _name(key: Any) -> str:
    """The operator's name of a key: a text, an operator or a function."""
    text = key if isinstance(key, str) else str(getattr(key, "_native_name", getattr(key, "__name__", key)))
    return text.rpartition("::")[2].removesuffix(".default")


def has_data_shape(row: Row) -> bool:
    """Whether elements decide the sizes of the results."""
    return row.shape == "data" and not row.composite


def returns_number(row: Row) -> bool:
    """Whether a result is a number that is computed from elements."""
    numbers = any(not (r.is_tensor or r.is_tensor_list) for r in row.rets)
    return numbers and row.family != "sparse"


def pointwise(row: Row) -> bool:
    """Whether a function of PyTorch's main namespace computes each element of its result from one of each input."""
    public = row.function and not row.base.startswith("_") and not row.namespace
    return bool(row.elementwise) and public and not row.base.endswith(("_backward", "_error"))


TABLES = (
    Table(
        "sparse", "tl_core.sparse_layouts.rule_table", "_RULES", ("tl_core.sparse_layouts.rules",),
    ),
    Table(
        "jagged", "tl_core.nested.tensor", "JAGGED.table JAGGED.raw", ("tl_core.nested",),
        must=pointwise, why="the row is elementwise",
        absent=dict.fromkeys(("complex", "polar"), "PyTorch's jagged tensors lack it"),
    ),
    Table("strided nested", "tl_core.nested.strided", "STRIDED.table STRIDED.raw",
          ("tl_core.nested.strided_operators",)),
    Table("masked", "tl_core.masked.maskedtensor.core", "HANDLERS", ("tl_core.masked",)),
    Table(
        "fake: sizes", "tl_core.subclasses.fake_rules", "SHAPE_OF_VALUES OVERLOADS_OF_VALUES",
        must=has_data_shape, why='the row has shape="data"',
    ),
    Table(
        "fake: numbers", "tl_core.subclasses.fake_rules", "NUMBER_OF_VALUES",
        must=returns_number, why="the row returns a number",
    ),
    Table("tag: sizes", "tl_core.schemas.tags", "_SIZED_BY_VALUE"),
    Table(
        "tag: numbers", "tl_core.schemas.tags", "_BY_VALUE", must=returns_number, why="the row returns a number",
    ),
    Table("tag: core", "tl_core.schemas.tags", "_CORE"),
    Table(
        "public", "tl_core.operators.public", "FORMULAS dimensions.BY_DIMENSIONS",
        ("tl_core.operators.public.handlers",),
    ),
    Table(
        "decomposition", "tl_compiler.decompositions.registry", "FUNCTIONS", ("tl_compiler.decompositions",),
    ),
    Table(
        "symbolic sizes", "tl_compiler.tracer.symbolic_fakes", "_RULES", must=has_data_shape,
        why='the row has shape="data"',
    ),
    Table("flops", "tl_utils.flop_counter", "flop_registry _OWN"),
    Table("flops of profiles", "tl_autograd.flop_formulas", "FLOP_FORMULAS"),
    Table(
        "quantized", "tl_quantization.tensor", "_HANDLERS", ("tl_quantization",),
    ),
    Table(
        "placements", "tl_distributed.tensor.strategies", "_rules", ("tl_distributed.tensor",),
    ),
)  # fmt: skip


def missing(rows: list[Row], tables: Iterable[Table] = TABLES) -> Iterator[str]:
    """A line for each row that a table must have and lacks."""
    for table in tables:
        if table.must is None:
            continue
        names = table.names()
        for row in rows:
            if table.must(row) and not {row.name, row.base} & names and row.name not in table.absent:
                yield f"{row.where}: {row.name} is missing in {table.module}.{table.attributes}: {table.why}"


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
    names = {table.title: table.names() for table in TABLES}
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
    faults = list(missing(collect.rows()))
    print("\n".join([*faults, f"{len(TABLES)} tables, {len(faults)} missing entries"]))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
