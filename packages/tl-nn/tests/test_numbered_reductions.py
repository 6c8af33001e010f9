import pytest

import tl_core as tl
import tl_nn.functional as F
from tl_core.testing import assert_close
from tl_nn.functional import numbered_reductions

X, Y = tl.rand(4, 3), tl.rand(4, 3)
SIGNS = tl.tensor([1.0, -1.0, 1.0, -1.0])
CTC = (
    tl.log_softmax(tl.randn(6, 2, 5), 2),
    tl.tensor([[1, 2], [3, 3]]),
    tl.tensor([6, 6]),
    tl.tensor([2, 2]),
)
CASES = [
    ("binary_cross_entropy_with_logits", (X, Y)),
    ("cosine_embedding_loss", (X, Y, SIGNS)),
    ("ctc_loss", CTC),
    ("hinge_embedding_loss", (X[:, 0], SIGNS)),
    ("kl_div", (X, Y)),
    ("margin_ranking_loss", (X[:, 0], Y[:, 0], SIGNS)),
    ("triplet_margin_loss", (X, Y, X + 1)),
]


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("number, name", list(enumerate(["none", "mean", "sum"])))
@pytest.mark.parametrize("function, args", CASES, ids=[c[0] for c in CASES])
def test_losses_are_those_of_nn_functional(function, args, number, name):
    result = getattr(numbered_reductions, function)(*args, reduction=number)
    assert_close(result, getattr(F, function)(*args, reduction=name))


def test_poisson_takes_all_of_its_arguments():
    result = numbered_reductions.poisson_nll_loss(X, Y, True, False, 1e-8, 2)
    assert_close(result, F.poisson_nll_loss(X, Y, reduction="sum"))


def test_other_numbers_are_refused():
    with pytest.raises(ValueError, match=r"kl_div\(\): reduction must be 0, 1 or 2"):
        numbered_reductions.kl_div(X, Y, 3)


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout", "feature_dropout"])
def test_dropouts(name):
    x = tl.ones(2, 6, 5)
    function, in_place = (getattr(numbered_reductions, n) for n in (name, name + "_"))
    assert_close(function(x, 0.5, False), x)
    tl.manual_seed(3)
    result = function(x, 0.5, True)
    tl.manual_seed(3)
    y = x.clone()
    assert in_place(y, 0.5, True) is y
    assert_close(result, y)
    if name != "alpha_dropout":
        assert bool((result == result[..., :1]).all())
    with pytest.raises(RuntimeError, match="at least 2"):
        numbered_reductions.feature_dropout(tl.ones(3), 0.5, True)


@pytest.mark.parametrize("pow", [1, 2])
def test_norms_but_for_a_dimension(pow):
    x = tl.randn(2, 3, 4)
    assert_close(numbered_reductions.norm_except_dim(x, pow, 1), x.norm(pow, (0, 2), keepdim=True))
    assert_close(numbered_reductions.norm_except_dim(x, pow, -1), x.norm(pow))
    assert_close(numbered_reductions.norm_except_dim(x[0, 0], pow, 0), x[0, 0].abs())
