"""Kernels raise nothing that a user can cause, and the opmath rule has one definition."""

import pytest

from tools import kernel_rules

KERNEL = kernel_rules.KERNELS / "cpu/loops/a.cpp"
OPERATOR = kernel_rules.NATIVE / "ops/a.cpp"


def plant(root, path, text):
    """Writes a file of a repository that has no other."""
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text(text)


def test_the_repository_keeps_the_rules():
    assert [f"{path}:{line}: {message}" for path, line, message in kernel_rules.violations()] == []


@pytest.mark.parametrize(
    "text",
    [
        'fail(ErrorKind::Runtime, "no");',
        'TL_CHECK(n > 0, Runtime, "no");',
        "raise_index(i, d, n);",
        "throw 1;",
    ],
)
def test_a_raising_kernel_is_found(tmp_path, text):
    plant(tmp_path, KERNEL, f"void f() {{\n  {text}\n}}\n")
    ((path, line, message),) = kernel_rules.violations(tmp_path)
    assert (path, line) == (tmp_path / KERNEL, 2)
    assert message.startswith("a kernel raises")


@pytest.mark.parametrize(
    "text",
    [
        "DType f(DType d) { return is_half(d) ? DType::Float32 : d; }",
        "x = is_half(t.dtype()) ? to_dtype(t, DType::Float32) : t;",
        "switch (d) {\n case DType::Float16:\n case DType::BFloat16:\n  return DType::Float32;\n}",
    ],
)
def test_a_copy_of_the_opmath_rule_is_found(tmp_path, text):
    plant(tmp_path, OPERATOR, text)
    ((path, _, message),) = kernel_rules.violations(tmp_path)
    assert path == tmp_path / OPERATOR
    assert message.startswith("a copy of opmath_type")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (OPERATOR, 'TL_CHECK(n > 0, Runtime, "no");'),
        (KERNEL, '// operators throw before; they fail(…)\nconst char* s = "TL_CHECK(false)";'),
        (KERNEL, "if (singular) return index;  // the operator raises"),
        (kernel_rules.OPMATH_HOME, "return is_half(d) ? DType::Float32 : d;"),
    ],
)
def test_what_is_allowed_is_not_reported(tmp_path, path, text):
    plant(tmp_path, path, text)
    assert list(kernel_rules.violations(tmp_path)) == []
