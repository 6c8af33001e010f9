"""Programs that a seed decides: tensors, views of them, writes to either, and results."""

from __future__ import annotations

import random

__all__ = ["draw_program"]

SHAPES = ((3,), (2, 3), (3, 3), (2, 3, 4), (1, 3), ())
VIEWS = """
    x.transpose(-1, -2) | x[0] | x[..., 0] | x[1:] | x[::2] | x.unsqueeze(0) | x.squeeze(0) | x.reshape(-1)
    x.view(-1) | x.expand(2, *x.shape) | x.diagonal() | x.narrow(0, 0, 1) | x.permute(*range(x.dim())[::-1])
    x.flatten() | x.real | x.imag | x.T | x.mT | x.select(-1, 0) | x.unfold(0, 2, 1) | x.movedim(0, -1)
    x.as_strided((2,), (1,)) | x.view_as(x) | x[None] | x[..., 1:] | m.view_as_real(x) | x.conj() | x.t()
    x.swapaxes(0, -1) | x.split(1)[0] | x.chunk(2, -1)[-1] | x.expand_as(x) | x.view(1, -1) | x.contiguous()
    x.ravel() | x.H | x.resolve_conj() | x.to(x.dtype) | x.tensor_split(2)[0] | x.hsplit(1)[0] | x.squeeze()
    x.detach()[0] | x.data | x.view(x.shape) | x.unsafe_chunk(2)[0] | x.unbind()[-1] | x.detach()
"""
WRITES = """
    x.add_(1) | x.mul_(2) | x.mul_(y) | x.add_(y) | x.zero_() | x.fill_(3.0) | x.copy_(y) | x.exp_() | x.sin_()
    x.clamp_(-1, 1) | x.index_fill_(0, m.tensor([0]), 1.0) | x.div_(2) | x.sub_(y, alpha=2) | x.pow_(2)
    x.addcmul_(y, y) | x.t_() | x.unsqueeze_(0) | x.squeeze_() | x.transpose_(0, -1) | x.tril_() | x.relu_()
    x.neg_() | x.sigmoid_() | x.index_add_(0, m.tensor([0]), y[:1]) | x.index_copy_(0, m.tensor([0]), y[:1])
    x.scatter_(0, m.zeros(x.shape, dtype=m.int64), 1.0) | x.lerp_(y, 0.5) | x.abs_() | x.swapaxes_(0, -1)
    x.cumsum_(0) | x.fill_diagonal_(2.0) | x.mul_(x) | x.add_(x.clone()) | x.copy_(x.flip(0)) | x.sqrt_()
    x.put_(m.tensor([0]), m.ones(1, dtype=x.dtype)) | x.masked_scatter_(x.real > 0, x.exp())
    x.squeeze_(0) | x.data.mul_(2) | x.detach().zero_() | x.conj_physical_() | x.nan_to_num_()
    x.addmm_(y.clone(), y.clone()) | x.true_divide_(2) | x.renorm_(2, 0, 0.5)
    x.masked_fill_(m.ones(x.shape, dtype=m.bool), 2.0)
    x.__setitem__(0, y) | x.__setitem__(0, 2.0) | x.__setitem__(..., y) | x.__setitem__((..., 0), 1.0)
    x.__setitem__(x.real > 0, 1.0) | x.__setitem__(m.tensor([0]), y[:1])
"""
RESULTS = """
    x + y | x * y | x @ y | x.sum() | x.exp() | m.cat([x, y]) | m.stack([x, x]) | x.sin() | x.mean(0) | x * 2
    m.where(x.real > 0, x, y) | x.abs() | x.flip(0) | x.roll(1) | x.cumsum(0) | x.norm() | x.prod() | x.std()
    x.index_select(0, m.tensor([0])) | x.gather(0, m.zeros((1,) * x.dim(), dtype=m.int64)) | x.amax()
    m.einsum('...i->...', x) | x.tril() | x.sum(-1, keepdim=True) | x.clone() | x.softmax(-1) | x.diff()
    m.outer(x.reshape(-1), y.reshape(-1)) | x.masked_select(x.real > 0) | x[x.real > 0] | x.sort()[0]
    x.topk(1)[0] | m.hstack([x, y]) | m.ones_like(x) | x.new_zeros(2) | x.logsumexp(0) | x.to(m.complex128)
    x.real + y.real | x[m.tensor([0, 0])] | x.repeat(2, *[1] * (x.dim() - 1))
"""
FUNCTIONS = """
    f.linear(x, y) | f.linear(x, y, y[0]) | f.layer_norm(x, x.shape[-1:]) | x @ y.mT | m.kron(x, y) | f.gelu(x)
    m.tensordot(x, y.mT, 1) | f.pad(x, (1, 1)) | f.pad(x, (1, 0), mode="replicate") | f.softplus(x) | f.glu(x)
    f.normalize(x, dim=-1) | f.avg_pool1d(x, 2, 1) | f.max_pool1d(x, 2, 1) | f.log_softmax(x, -1) | f.elu(x)
    f.batch_norm(x, None, None, training=True) | m.var_mean(x, -1)[0] | m.bmm(x[None], y.mT[None]) | f.silu(x)
    f.scaled_dot_product_attention(x[None, None], x[None, None], y[None, None]) | m.cdist(x, y) | f.mse_loss(x, y)
    f.interpolate(x[None], size=4) | f.l1_loss(x, y, reduction="none") | f.embedding(m.tensor([0, 0]), x)
    f.cross_entropy(x, m.zeros(len(x), dtype=m.int64)) | m.linalg.vector_norm(x, dim=-1) | x.logcumsumexp(0)
    f.conv1d(x, y[None, :, :2]) | f.instance_norm(x[None]) | f.adaptive_avg_pool1d(x, 1) | x.cumprod(0) | f.mish(x)
    m.addmm(x, x, y.mT) | f.prelu(x, y.reshape(-1)[:1]) | m.meshgrid(x.reshape(-1), indexing="ij")[0] | m.block_diag(x)
    f.bilinear(x, y, y[None]) | f.cosine_similarity(x, y) | f.unfold(x[None, None], 1) | f.group_norm(x[None], 1)
    f.rms_norm(x, x.shape[-1:]) | m.lerp(x, y, 0.3) | m.addcdiv(x, y, y.abs() + 1) | m.matrix_power(x, 2) | x.det()
"""
GRAPHS = """
    x.retain_grad() | x.register_hook(lambda g: g * 2) and None | x.detach_() | x.requires_grad_() | x.grad
    m.autograd.grad(x.abs().sum(), y, retain_graph=True, allow_unused=True)[0] | x.requires_grad_(False)
    m.autograd.grad(x.abs().sum(), y, create_graph=True, allow_unused=True)[0] | x.detach().requires_grad_()
    x.register_hook(lambda g: g.clone().zero_()) and None | x.abs().sum().backward(retain_graph=True)
    m.autograd.grad([x.abs().sum(), y.abs().sum()], [x], retain_graph=True)[0]
    x.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(2)) and None
    x.abs().sum().backward(inputs=[y], retain_graph=True) | m.func.vmap(lambda z: z * 2)(x)
    m.func.grad(lambda z: (z * y).abs().sum())(x) | m.func.jvp(lambda z: z * y, (x,), (x,))[1]
    m.utils.checkpoint.checkpoint(lambda z: z.sin() * y, x, use_reentrant=False)
"""


def _expressions(text: str) -> list[str]:
    return [expression.strip() for line in text.strip().splitlines() for expression in line.split("|")]


_KINDS = [
    *[("", _expressions(VIEWS))] * 6,
    *[("", _expressions(WRITES))] * 6,
    *[("", _expressions(RESULTS))] * 4,
    *[("", _expressions(FUNCTIONS))] * 3,
    *[("", _expressions(GRAPHS))] * 2,
    ("without gradients ", _expressions(VIEWS) + _expressions(RESULTS)),
]


def _tensor(draw: random.Random) -> str:
    shape = draw.choice(SHAPES)
    count = 1
    for size in shape:
        count *= size
    numbers = [round(draw.gauss(0, 1), 3) for _ in range(count)]
    dtype = draw.choice(("float64", "float64", "float64", "complex128"))
    grad = ".clone().requires_grad_()" if draw.random() < 0.6 else ""
    return f"m.tensor({numbers}, dtype=m.{dtype}).reshape({shape}){grad}"


def draw_program(seed: str) -> list[str]:
    """The statements' right sides. Statement i is stored as t[i], and reads x and y, which are earlier ones.

    Args:
        seed: decides the draw.

    Returns:
        Texts of the form `x y: expression`, where x and y are indices. A note before the expression says that it runs
        without gradients.
    """
    draw = random.Random(seed)
    statements = [f"0 0: {_tensor(draw)}" for _ in range(3)]
    for _ in range(draw.randrange(4, 14)):
        note, expressions = draw.choice(_KINDS)
        x, y = draw.randrange(len(statements)), draw.randrange(len(statements))
        statements.append(f"{x} {y}: {note}{draw.choice(expressions)}")
    return statements
