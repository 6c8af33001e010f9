"""Graphs in the logs of TorchScript's compiler, for logs that PyTorch wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

__all__ = [
    "extract_ir",
    "load_graph_and_inputs",
    "run_baseline_no_fusion",
    "run_nnc",
    "run_nvfuser",
    "run_test",
]

_BEGIN, _END = "<GRAPH_EXPORT>", "</GRAPH_EXPORT>"


def extract_ir(filename: str) -> list[str]:
    """The graphs in a log.

    Args:
        filename: the log.

    Returns:
        list of str, the text of each graph, without what the logger puts before each line.

    Example:
        >>> import pathlib, tempfile
        >>> log = pathlib.Path(tempfile.mkdtemp(), "log")
        >>> _ = log.write_text("[D] <GRAPH_EXPORT>\\n[D] graph(%x):\\n[D] return (%x)</GRAPH_EXPORT>\\n")
        >>> extract_ir(str(log))
        ['graph(%x):\\n return (%x)']
    """
    graphs = []
    for part in Path(filename).read_text().split(_BEGIN)[1:]:
        text, end, _ = part.partition(_END)
        if not end:
            raise ValueError(f"extract_ir: {filename} ends within a graph: {_END} is missing")
        lines = [line.partition("] ")[2] or line for line in text.splitlines()[1:]]
        graphs.append(
            "\n".join([lines[0].lstrip(), *(f" {line.strip()}" for line in lines[1:])]) if lines else ""
        )
    return graphs


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"{name}: there is no TorchScript here, so a graph can't be run")


def load_graph_and_inputs(ir: str) -> NoReturn:
    """Would parse a graph and make inputs for it.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     load_graph_and_inputs("graph()")
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    _refuse("load_graph_and_inputs")


def run_test(ir: Any, inputs: Any, *, warmup_runs: int = 10, test_runs: int = 20) -> NoReturn:
    """Would time a graph.

    Args:
        ir: the graph as text.
        inputs: its inputs.
        warmup_runs: runs before the measurement.
        test_runs: runs that are measured.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     run_test("graph()", [])
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    _refuse("run_test")


def run_baseline_no_fusion(ir: Any, inputs: Any) -> NoReturn:
    """Would time a graph without fusion.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     run_baseline_no_fusion("graph()", [])
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    _refuse("run_baseline_no_fusion")


def run_nnc(ir: Any, inputs: Any, dynamic: bool) -> NoReturn:
    """Would time a graph with the fuser NNC.

    Args:
        ir: the graph as text.
        inputs: its inputs.
        dynamic: whether shapes may change.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     run_nnc("graph()", [], False)
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    _refuse("run_nnc")


def run_nvfuser(ir: Any, inputs: Any) -> NoReturn:
    """Would time a graph with nvFuser.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     run_nvfuser("graph()", [])
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    _refuse("run_nvfuser")
