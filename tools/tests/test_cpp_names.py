"""The table of headers under PyTorch's names."""

from __future__ import annotations

from tools import cpp_names


def test_names_of_a_part() -> None:
    names = cpp_names.names_of("library")
    assert {"Library", "CppFunction", "DispatchKey", "TORCH_LIBRARY", "RegisterOperators"} <= set(names)
    assert not {"face", "registry", "TL_FACE_LIBRARY"} & set(names)
    assert names == sorted(names, key=str.casefold)


def test_rows_have_the_names_of_included_parts() -> None:
    rows = {header: names for _, headers, names in cpp_names.rows() for header in headers}
    assert "TORCH_LIBRARY" in rows["torch/library.h"] and "TORCH_LIBRARY" not in rows["ATen/ATen.h"]
    assert "TORCH_CHECK" in rows["c10/util/Exception.h"]
    assert {"empty", "sum_out", "from_blob"} <= set(rows["torch/csrc/stable/ops.h"])


def test_the_page_is_a_table() -> None:
    lines = cpp_names.page().splitlines()
    assert lines[:2] == ["| headers | names |", "|---|---|"]
    assert len(lines) == 2 + len(list(cpp_names.rows()))
    assert all(line.count(" | ") == 1 for line in lines[2:])
