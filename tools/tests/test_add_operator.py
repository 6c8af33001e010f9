"""The guide's texts go into the files that it names."""

import pytest

from tools import add_operator


def test_the_guide_names_files_and_their_new_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["add_operator", str(tmp_path / "copy")])
    add_operator.main()
    core = tmp_path / "copy" / "packages" / "tl-core"
    row = (core / "optable" / "trigonometric.py").read_text()
    assert row.index('Unary("versin"') < row.rindex("]  # fmt: skip")
    function = (core / "csrc" / "kernels" / "cpu" / "elementwise" / "unary.h").read_text()
    assert function.index("TL_UNARY(versin") < function.index("#undef TL_UNARY")


def test_a_guide_that_says_it_otherwise_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected text like"):
        add_operator.add(tmp_path, "nothing of the kind", *add_operator.ROW)
