"""The rules of commit messages."""

import pytest

from tools.commit_message import changes_code, faults


@pytest.mark.parametrize(
    "subject",
    [
        "gemm: prefetch the next panel of B",
        "core, nn: rename result_type",
        "tl.torch: raise ImportError",
        "Merge branch 'x'",
    ],
)
def test_good_subjects(subject):
    assert faults(subject, False) == []


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("prefetch the next panel", "write `area: imperative`"),
        ("gemm: the next panel", "'the'"),
        ("gemm: prefetched the next panel", "'prefetched'"),
        ("gemm: adds a panel", "'adds'"),
        ("gemm: add " + "a" * 120, "at most"),
        ("", "write `area: imperative`"),
    ],
)
def test_bad_subjects(subject, fault):
    (line,) = faults(subject, False)
    assert fault in line


def test_code_needs_a_body():
    assert faults("gemm: add a panel\n\n# comment\n", True) == ["a body is missing: say why"]
    assert faults("gemm: add a panel\n\nIt is faster.\n", True) == []


@pytest.mark.parametrize(
    ("names", "result"),
    [
        ("packages/tl-core/csrc/a.cpp\nREADME.md\n", True),
        ("packages/tl-core/tests/test_a.py\n", False),
        ("docs/index.md\n", False),
    ],
)
def test_code_is_what_packages_install(names, result):
    assert changes_code(names) is result
