"""Examples of the operators whose rows a loop or a helper of the table makes; all others have theirs in the row."""

from __future__ import annotations

_TEXT = """
gcd
>>> tl.gcd(tl.tensor([12, 18]), tl.tensor([8, 27]))
tensor([4, 9])

lcm
>>> tl.lcm(tl.tensor([4, 6]), tl.tensor([6, 9]))
tensor([12, 18])

bitwise_left_shift
>>> tl.bitwise_left_shift(tl.tensor([1, 3]), 2)
tensor([ 4, 12])

bitwise_right_shift
>>> tl.bitwise_right_shift(tl.tensor([8, -8]), 1)
tensor([ 4, -4])

isfinite
>>> tl.isfinite(tl.tensor([1.0, tl.inf, tl.nan]))
tensor([ True, False, False])

isinf
>>> tl.isinf(tl.tensor([1.0, -tl.inf, tl.nan]))
tensor([False,  True, False])

isposinf
>>> tl.isposinf(tl.tensor([tl.inf, -tl.inf]))
tensor([ True, False])

isneginf
>>> tl.isneginf(tl.tensor([tl.inf, -tl.inf]))
tensor([False,  True])

signbit
>>> tl.signbit(tl.tensor([-0.0, 0.0, -2.0]))
tensor([ True, False,  True])

conv_transpose1d
>>> tl.conv_transpose1d(tl.tensor([[[1.0, 2.0]]]), tl.tensor([[[1.0, 10.0]]]), stride=2)
tensor([[[ 1., 10.,  2., 20.]]])

conv_transpose2d
>>> tl.conv_transpose2d(tl.tensor([[[[1.0, 2.0]]]]), tl.ones(1, 1, 2, 1))
tensor([[[[1., 2.],
          [1., 2.]]]])

conv_transpose3d
>>> tl.conv_transpose3d(tl.ones(1, 2, 3, 4, 5), tl.ones(2, 3, 2, 2, 2), stride=2).shape
torch.Size([1, 3, 6, 8, 10])

range
>>> import warnings
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore")
...     tl.range(0, 6, 2)
tensor([0., 2., 4., 6.])

hsplit
>>> tl.hsplit(tl.tensor([[1, 2, 3, 4]]), 2)
(tensor([[1, 2]]), tensor([[3, 4]]))

vsplit
>>> tl.vsplit(tl.tensor([[1, 2], [3, 4]]), 2)
(tensor([[1, 2]]), tensor([[3, 4]]))

dsplit
>>> [part.shape for part in tl.dsplit(tl.zeros(2, 3, 4), [1, 3])]
[torch.Size([2, 3, 1]), torch.Size([2, 3, 2]), torch.Size([2, 3, 1])]

max_pool1d_with_indices
>>> tl.max_pool1d_with_indices(tl.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
(tensor([[5., 4.]]), tensor([[1, 3]]))

lstm
>>> x, state = tl.ones(4, 1, 3), (tl.zeros(1, 1, 2), tl.zeros(1, 1, 2))
>>> weights = [tl.zeros(8, 3), tl.zeros(8, 2), tl.ones(8), tl.ones(8)]
>>> output, h, c = tl.lstm(x, state, weights, True, 1, 0.0, False, False, False)
>>> output.shape, h.shape, c.shape
(torch.Size([4, 1, 2]), torch.Size([1, 1, 2]), torch.Size([1, 1, 2]))

gru
>>> weights = [tl.zeros(6, 3), tl.zeros(6, 2), tl.ones(6), tl.ones(6)]
>>> output, h = tl.gru(tl.ones(4, 1, 3), tl.zeros(1, 1, 2), weights, True, 1, 0.0, False, False, False)
>>> output.shape, h.shape
(torch.Size([4, 1, 2]), torch.Size([1, 1, 2]))

rnn_tanh
>>> weights = [tl.ones(1, 1), tl.zeros(1, 1)]
>>> x = tl.tensor([[[0.5]], [[0.5]]])
>>> output, h = tl.rnn_tanh(x, tl.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)
>>> h
tensor([[[0.4621]]])

rnn_relu
>>> weights = [tl.ones(1, 1), tl.ones(1, 1)]
>>> x = tl.tensor([[[1.0]], [[2.0]]])
>>> output, h = tl.rnn_relu(x, tl.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)
>>> h
tensor([[[3.]]])

lstm_cell
>>> h, c = tl.lstm_cell(tl.ones(1, 1), (tl.zeros(1, 1), tl.ones(1, 1)), tl.ones(4, 1), tl.ones(4, 1))
>>> h, c
(tensor([[0.6277]]), tensor([[1.2878]]))

gru_cell
>>> tl.gru_cell(tl.ones(1, 1), tl.zeros(1, 1), tl.ones(3, 1), tl.ones(3, 1))
tensor([[0.2048]])

rnn_tanh_cell
>>> tl.rnn_tanh_cell(tl.tensor([[0.5]]), tl.tensor([[0.5]]), tl.ones(1, 1), tl.ones(1, 1))
tensor([[0.7616]])

rnn_relu_cell
>>> tl.rnn_relu_cell(tl.tensor([[2.0]]), tl.tensor([[3.0]]), tl.ones(1, 1), -tl.ones(1, 1))
tensor([[0.]])

max
>>> x = tl.tensor([[3, 9], [7, 1]])
>>> tl.max(x)
tensor(9)
>>> tl.max(x, 1).indices
tensor([1, 0])

min
>>> x = tl.tensor([[3, 9], [7, 1]])
>>> tl.min(x)
tensor(1)
>>> tl.min(x, 1).values
tensor([3, 1])

any
>>> tl.any(tl.tensor([[False, True], [False, False]]), 1)
tensor([ True, False])

all
>>> tl.all(tl.tensor([[True, True], [False, True]]), 1)
tensor([ True, False])

var
>>> tl.var(tl.tensor([1.0, 2.0, 6.0])), tl.var(tl.tensor([1.0, 2.0, 6.0]), correction=0)
(tensor(7.), tensor(4.6667))

var_mean
>>> tl.var_mean(tl.tensor([[1.0, 3.0], [2.0, 6.0]]), 1)
(tensor([2., 8.]), tensor([2., 4.]))

std
>>> tl.std(tl.tensor([[1.0, 3.0], [2.0, 6.0]]), 1, correction=0)
tensor([1., 2.])

std_mean
>>> tl.std_mean(tl.tensor([1.0, 3.0, 5.0]))
(tensor(2.), tensor(3.))

cummax
>>> tl.cummax(tl.tensor([1, 4, 2, 5]), 0).values
tensor([1, 4, 4, 5])

cummin
>>> tl.cummin(tl.tensor([4, 1, 2, 0]), 0).indices
tensor([0, 1, 1, 3])

quantile
>>> tl.quantile(tl.tensor([1.0, 2.0, 3.0, 4.0]), tl.tensor([0.25, 0.5]))
tensor([1.7500, 2.5000])

nanquantile
>>> tl.nanquantile(tl.tensor([1.0, tl.nan, 3.0]), 0.5)
tensor(2.)

grid_sampler
>>> image, points = tl.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), tl.tensor([[[[0.0, 0.0], [-0.5, -0.5]]]])
>>> tl.grid_sampler(image, points, 0, 0, False)
tensor([[[[2.5000, 1.0000]]]])

grid_sampler_2d
>>> image, points = tl.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), tl.tensor([[[[0.5, -0.5]]]])
>>> tl.grid_sampler_2d(image, points, 1, 0, False)
tensor([[[[2.]]]])

grid_sampler_3d
>>> volume, points = tl.arange(8.0).view(1, 1, 2, 2, 2), tl.zeros(1, 1, 1, 1, 3)
>>> tl.grid_sampler_3d(volume, points, 0, 0, False)
tensor([[[[[3.5000]]]]])

affine_grid_generator
>>> tl.affine_grid_generator(tl.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), [1, 1, 1, 2], True)
tensor([[[[-1.,  0.],
          [ 1.,  0.]]]])

native_channel_shuffle
>>> tl.native_channel_shuffle(tl.arange(4).view(1, 4, 1, 1), 2).flatten()
tensor([0, 2, 1, 3])

special_airy_ai
>>> tl.special.airy_ai(tl.tensor([0.0, 1.0]))
tensor([0.3550, 0.1353])

special_bessel_j0
>>> tl.special.bessel_j0(tl.tensor([0.0, 2.5]))
tensor([ 1.0000, -0.0484])

special_bessel_j1
>>> tl.special.bessel_j1(tl.tensor([0.0, 2.5]))
tensor([0.0000, 0.4971])

special_bessel_y0
>>> tl.special.bessel_y0(tl.tensor([1.0, 2.5]))
tensor([0.0883, 0.4981])

special_bessel_y1
>>> tl.special.bessel_y1(tl.tensor([1.0, 2.5]))
tensor([-0.7812,  0.1459])

special_chebyshev_polynomial_t
>>> tl.special.chebyshev_polynomial_t(tl.tensor([0.0, 0.5]), 2)
tensor([-1.0000, -0.5000])

special_chebyshev_polynomial_u
>>> tl.special.chebyshev_polynomial_u(tl.tensor([0.0, 0.5]), 2)
tensor([-1.,  0.])

special_chebyshev_polynomial_v
>>> tl.special.chebyshev_polynomial_v(tl.tensor([0.0, 0.5]), 2)
tensor([-1., -1.])

special_chebyshev_polynomial_w
>>> tl.special.chebyshev_polynomial_w(tl.tensor([0.0, 0.5]), 2)
tensor([-1.,  1.])

special_shifted_chebyshev_polynomial_t
>>> tl.special.shifted_chebyshev_polynomial_t(tl.tensor([0.25, 1.0]), 2)
tensor([-0.5000,  1.0000])

special_shifted_chebyshev_polynomial_u
>>> tl.special.shifted_chebyshev_polynomial_u(tl.tensor([0.25, 1.0]), 2)
tensor([0., 3.])

special_shifted_chebyshev_polynomial_v
>>> tl.special.shifted_chebyshev_polynomial_v(tl.tensor([0.25, 1.0]), 2)
tensor([1., 1.])

special_shifted_chebyshev_polynomial_w
>>> tl.special.shifted_chebyshev_polynomial_w(tl.tensor([0.25, 1.0]), 2)
tensor([-1.,  5.])

special_entr
>>> tl.special.entr(tl.tensor([0.0, 0.5]))
tensor([0.0000, 0.3466])

special_erfcx
>>> tl.special.erfcx(tl.tensor([0.0, 30.0]))
tensor([1.0000, 0.0188])

special_hermite_polynomial_h
>>> tl.special.hermite_polynomial_h(tl.tensor([1.0, 2.0]), 3)
tensor([-4., 40.])

special_hermite_polynomial_he
>>> tl.special.hermite_polynomial_he(tl.tensor([1.0, 2.0]), 3)
tensor([-2.,  2.])

special_i0e
>>> tl.special.i0e(tl.tensor([0.0, 100.0]))
tensor([1.0000, 0.0399])

special_i1
>>> tl.special.i1(tl.tensor([0.0, 1.0]))
tensor([0.0000, 0.5652])

special_i1e
>>> tl.special.i1e(tl.tensor([0.0, 100.0]))
tensor([0.0000, 0.0397])

special_laguerre_polynomial_l
>>> tl.special.laguerre_polynomial_l(tl.tensor([0.0, 2.0]), 2)
tensor([ 1., -1.])

special_legendre_polynomial_p
>>> tl.special.legendre_polynomial_p(tl.tensor([0.5, 1.0]), 2)
tensor([-0.1250,  1.0000])

special_log_ndtr
>>> tl.special.log_ndtr(tl.tensor([0.0, -20.0]))
tensor([  -0.6931, -203.9172])

special_modified_bessel_i0
>>> tl.special.modified_bessel_i0(tl.tensor([0.0, 1.0]))
tensor([1.0000, 1.2661])

special_modified_bessel_i1
>>> tl.special.modified_bessel_i1(tl.tensor([0.0, 1.0]))
tensor([0.0000, 0.5652])

special_modified_bessel_k0
>>> tl.special.modified_bessel_k0(tl.tensor([0.5, 1.0]))
tensor([0.9244, 0.4210])

special_modified_bessel_k1
>>> tl.special.modified_bessel_k1(tl.tensor([0.5, 1.0]))
tensor([1.6564, 0.6019])

special_ndtr
>>> tl.special.ndtr(tl.tensor([-1.0, 0.0, 1.0]))
tensor([0.1587, 0.5000, 0.8413])

special_ndtri
>>> tl.special.ndtri(tl.tensor([0.025, 0.5, 0.975]))
tensor([-1.9600,  0.0000,  1.9600])

special_scaled_modified_bessel_k0
>>> tl.special.scaled_modified_bessel_k0(tl.tensor([1.0, 100.0]))
tensor([1.1445, 0.1252])

special_scaled_modified_bessel_k1
>>> tl.special.scaled_modified_bessel_k1(tl.tensor([1.0, 100.0]))
tensor([1.6362, 0.1258])

special_spherical_bessel_j0
>>> tl.special.spherical_bessel_j0(tl.tensor([0.0, 1.5]))
tensor([1.0000, 0.6650])

special_zeta
>>> tl.special.zeta(tl.tensor([2.0, 4.0]), 1)
tensor([1.6449, 1.0823])

alias_copy
>>> tl.alias_copy(tl.tensor([1, 2]))
tensor([1, 2])

as_strided_copy
>>> tl.as_strided_copy(tl.arange(4), (2, 2), (1, 2))
tensor([[0, 2],
        [1, 3]])

detach_copy
>>> tl.detach_copy(tl.tensor([1, 2]))
tensor([1, 2])

diagonal_copy
>>> tl.diagonal_copy(tl.tensor([[1, 2], [3, 4]]))
tensor([1, 4])

expand_copy
>>> tl.expand_copy(tl.tensor([1, 2]), (2, 2)).stride()
(2, 1)

permute_copy
>>> tl.permute_copy(tl.zeros(2, 3, 4), (2, 0, 1)).shape
torch.Size([4, 2, 3])

select_copy
>>> tl.select_copy(tl.tensor([[1, 2], [3, 4]]), 1, 0)
tensor([1, 3])

slice_copy
>>> tl.slice_copy(tl.arange(6), 0, 1, 6, 2)
tensor([1, 3, 5])

squeeze_copy
>>> tl.squeeze_copy(tl.zeros(1, 3, 1)).shape
torch.Size([3])

t_copy
>>> tl.t_copy(tl.tensor([[1, 2], [3, 4]]))
tensor([[1, 3],
        [2, 4]])

transpose_copy
>>> tl.transpose_copy(tl.zeros(2, 3, 4), 0, 2).shape
torch.Size([4, 3, 2])

unfold_copy
>>> tl.unfold_copy(tl.arange(4), 0, 2, 1)
tensor([[0, 1],
        [1, 2],
        [2, 3]])

unsqueeze_copy
>>> tl.unsqueeze_copy(tl.tensor([1, 2]), 1).shape
torch.Size([2, 1])

view_as_complex_copy
>>> tl.view_as_complex_copy(tl.tensor([[1.0, -2.0]]))
tensor([1.-2.j])

view_as_real_copy
>>> tl.view_as_real_copy(tl.tensor([1 - 2j]))
tensor([[ 1., -2.]])

view_copy
>>> tl.view_copy(tl.arange(4), (2, 2))
tensor([[0, 1],
        [2, 3]])

split_copy
>>> tl.split_copy(tl.arange(3), 2)
(tensor([0, 1]), tensor([2]))

split_with_sizes_copy
>>> tl.split_with_sizes_copy(tl.arange(4), [1, 3])
(tensor([0]), tensor([1, 2, 3]))

unbind_copy
>>> tl.unbind_copy(tl.tensor([[1, 2], [3, 4]]))
(tensor([1, 2]), tensor([3, 4]))
"""


def example_of() -> dict[str, str]:
    """The sessions by the operator's name, without its overload: a name, then its lines, then an empty one."""
    blocks = (block.partition("\n") for block in _TEXT.strip().split("\n\n"))
    return {name: lines for name, _, lines in blocks}
