"""The report of an export, in Markdown."""

from __future__ import annotations

import datetime
import json
import traceback
from collections import Counter
from typing import Any

from ..version import __version__

__all__ = ["write"]


def write(export: Any, error: Exception | None, report: bool, profile: bool, dump: bool) -> None:
    """Writes the report and the program of an export to its folder.

    Args:
        export: the steps of the export.
        error: the error that ended it, or None.
        report: whether there is a report.
        profile: whether the report has times.
        dump: whether the program is written.
    """
    folder = export.artifacts
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")
    state = "success" if error is None else ("translation" if export.exported is not None else "capture")
    if dump and export.exported is not None:
        from ..export import save

        save(export.exported, folder / f"onnx_export_{stamp}_{state}.pt2")
    if report or profile:
        path = folder / f"onnx_export_{stamp}_{state}.md"
        path.write_text("\n".join([*_summary(export, error), *(_times(export) if profile else ())]), "utf-8")
        export.report_path = path
        print(f"[tl.onnx] report: {path}")


def _summary(export: Any, error: Exception | None) -> list[str]:
    lines = [
        "# Export to ONNX",
        "",
        f"tl-compiler {__version__}, operator set {export.opset}",
        "",
        "## Strategies",
        "",
    ]
    lines += ["| strategy | result |", "|---|---|"]
    for attempt in export.attempts:
        text = (
            "captured the model"
            if attempt.error is None
            else f"{type(attempt.error).__name__}: {attempt.error}"
        )
        lines.append(f"| {attempt.name} | {_cell(text)} |")
    if error is not None:
        lines += ["", "## Error", "", "```", *traceback.format_exception_only(error), "```"]
    if export.exported is not None:
        lines += ["", "## Operators of the program", "", "| operator | calls |", "|---|---|"]
        calls = Counter(str(n.target) for n in export.exported.graph.nodes if n.op == "call_function")
        lines += [f"| {_cell(name)} | {count} |" for name, count in sorted(calls.items())]
        missing = _missing(export)
        if missing:
            lines += ["", "## Operators without a translation", "", *(f"- {name}" for name in missing)]
        lines += ["", "## Program", "", "```", str(export.exported), "```"]
    if export.program is not None:
        nodes = Counter(node.op_type for node in export.program.model.graph)
        lines += ["", "## Nodes of the ONNX model", "", "| node | count |", "|---|---|"]
        lines += [f"| {name} | {count} |" for name, count in sorted(nodes.items())]
    if export.verification:
        lines += ["", "## Comparison with onnxruntime", "", "```json"]
        lines += [json.dumps(info.asdict(), indent=1) for info in export.verification]
        lines += ["```"]
    return [*lines, ""]


def _missing(export: Any) -> list[str]:
    from .lowering.control_flow import CONTROL_FLOW
    from .lowering.function_table import FunctionTable, names_of_node

    table = FunctionTable(export.opset)
    program = export.exported if export.program is None else export.program.exported_program
    nodes = [n for n in program.graph.nodes if n.op == "call_function" and table.of_node(n) is None]
    return sorted({names_of_node(n)[-1] for n in nodes} - set(CONTROL_FLOW))


def _times(export: Any) -> list[str]:
    rows = [f"| {name} | {seconds:.3f} |" for name, seconds in export.times.items()]
    return ["## Times", "", "| step | seconds |", "|---|---|", *rows, ""]


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
