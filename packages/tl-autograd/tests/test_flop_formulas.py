"""Operations of calls: a product and its sum count as two."""

import pytest

from tl_autograd.flop_formulas import flops_of

CASES = {
    "a product of matrices": ("aten::mm", [[2, 3], [3, 5]], [], 2 * 2 * 3 * 5),
    "a sum and a product": ("aten::addmm", [[5], [2, 3], [3, 5]], [], 60),
    "a batch of products": ("aten::bmm", [[7, 2, 3], [7, 3, 5]], [], 7 * 60),
    "a matrix and a vector": ("aten::mv", [[2, 3], [3]], [], 12),
    "two vectors": ("aten::dot", [[4], [4]], [], 8),
    "a sum with broadcasting": ("aten::add", [[2, 1, 3], [4, 1], []], [], 6),
    "a layer": ("aten::linear", [[8, 3], [5, 3], [5]], [], 2 * 8 * 3 * 5),
    "images": ("aten::conv2d", [[2, 3, 8, 8], [4, 3, 3, 3], [4]], ["", "", "", [1, 1], [1, 1], [1, 1], 1],
               2 * (4 * 3 * 9) * (8 * 8) * 2),
    "images with steps": ("aten::conv2d", [[3, 9, 9], [4, 3, 3, 3], []], ["", "", "", [2], [0], [1], 1],
                          2 * (4 * 3 * 9) * (4 * 4)),
    "a padding of the same size": ("aten::conv1d", [[1, 1, 7], [1, 1, 3], []], ["", "", "", [2], "same", [1]],
                                   2 * 3 * 4),
    "no padding": ("aten::conv1d", [[1, 1, 7], [1, 1, 3], []], ["", "", "", 1, "valid", 2], 2 * 3 * 3),
    "attention": ("aten::scaled_dot_product_attention", [[2, 4, 5, 8], [2, 4, 6, 8], [2, 4, 6, 3]], [],
                  2 * (2 * 4 * 5) * 6 * (8 + 3)),
    "no formula": ("aten::sin", [[4]], [], 0),
    "another overload": ("aten::mm", [[2]], [], 0),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_operations(case):
    name, shapes, values, count = CASES[case]
    assert flops_of(name, shapes, values, True) == count


def test_layers_count_only_without_operators_inside():
    assert flops_of("aten::linear", [[8, 3], [5, 3], []], [], False) == 0
    assert flops_of("aten::mm", [[2, 3], [3, 5]], [], False) == 60
