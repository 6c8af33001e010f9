"""Elements at indices that are tensors, read by an operator."""

import tl_core as tl
from tl_autograd.func import vmap
from tl_compiler.higher_order.index_mode import TransformGetItemToIndex


def test_elements_under_vmap():
    table = tl.arange(12).reshape(3, 4)
    rows, columns = tl.tensor([0, 2]), tl.tensor([3, 1])

    def read(row, column):
        with TransformGetItemToIndex():
            return table[row, column]

    assert vmap(read)(rows, columns).tolist() == [3, 9]


def test_other_indices_are_as_before():
    table = tl.arange(12).reshape(3, 4)
    with TransformGetItemToIndex():
        assert table[1].tolist() == [4, 5, 6, 7] and table[:, -1].tolist() == [3, 7, 11]
        assert table[tl.tensor(1), tl.tensor(2)].item() == 6
