"""PyTorch's tests in C++ without the tests that do not compile."""

from __future__ import annotations

from tools.cpp_clients import peer_tests

TEXT = """#include <gtest/gtest.h>
TEST(First, one) {
  ASSERT_TRUE(true);
}
static int between = 1;
TEST_F(Second,
       two) {
  if (between) {
  }
}
TEST(Third, three_CUDA) {
}
"""


def test_the_lines_of_tests() -> None:
    assert peer_tests.spans(TEXT) == {
        "First.one": (2, 4),
        "Second.two": (6, 10),
        "Third.three_CUDA": (11, 12),
    }


def test_a_file_without_a_test() -> None:
    rest = peer_tests.without(TEXT, [(6, 10)])
    lines, kept = TEXT.split("\n"), rest.split("\n")
    assert kept[5:10] == [""] * 5 and kept[:5] == lines[:5] and kept[10:] == lines[10:]


def test_tests_of_gpus_are_not_counted() -> None:
    assert [name for name in peer_tests.spans(TEXT) if peer_tests.of_gpus(name)] == ["Third.three_CUDA"]
