"""Numbers without modules: sparse tensors, linear algebra, transforms of Fourier, special functions, statistics."""

import math

import tl as torch
import tl.fft
import tl.linalg as LA
from tl import Tensor
from tl.fft import fftshift, irfft, rfft
from tl.special import expit


def power_iteration(A: Tensor, n: int = 20) -> tuple[Tensor, Tensor]:
    v = torch.ones(A.shape[-1], dtype=A.dtype)
    for _ in range(n):
        v = A @ v
        v = v / torch.linalg.vector_norm(v)
    return torch.dot(v, A.mv(v)), v


def low_rank(A: Tensor, k: int) -> Tensor:
    U, S, Vh = torch.linalg.svd(A, full_matrices=False)
    return (U[:, :k] * S[:k]) @ Vh[:k]


def smooth(signal: Tensor, keep: int) -> Tensor:
    spectrum = rfft(signal, norm="ortho")
    spectrum[..., keep:] = 0
    return irfft(spectrum, n=signal.shape[-1], norm="ortho")


def main() -> None:
    torch.manual_seed(0)
    A = torch.randn(4, 4, dtype=torch.float64)
    spd = A @ A.mT + torch.eye(4, dtype=torch.float64)
    value, vector = power_iteration(spd)
    eigenvalues, eigenvectors = LA.eigh(spd)
    print(value.item(), eigenvalues.max().item(), vector.shape, eigenvectors.shape)
    print(torch.linalg.eigh(spd).eigenvectors.mT)
    L = torch.linalg.cholesky(spd)
    x = torch.cholesky_solve(torch.ones(4, 1, dtype=torch.float64), L)
    print(
        torch.linalg.solve(spd, x).shape,
        LA.det(spd),
        torch.linalg.slogdet(spd).logabsdet,
        low_rank(A, 2).shape,
    )
    Q, R = torch.linalg.qr(A)
    print(torch.linalg.lstsq(A, A).solution.shape, torch.linalg.matrix_norm(Q @ R - A), torch.linalg.svd(A).S)

    signal = torch.sin(torch.arange(32) * (2 * math.pi / 8))
    print(smooth(signal, 8).shape, fftshift(tl.fft.fft(signal)).abs().argmax(), tl.fft.fftfreq(8, d=0.1))
    window = torch.hann_window(16)
    spectrogram = torch.stft(signal, n_fft=16, hop_length=4, window=window, return_complex=True)
    print(spectrogram.abs().shape, torch.view_as_real(spectrogram).shape)


def show_elements() -> None:
    indices = torch.tensor([[0, 1, 2], [2, 0, 1]])
    sparse = torch.sparse_coo_tensor(indices, torch.ones(3), size=(3, 3)).coalesce()
    dense = torch.sparse.mm(sparse, torch.eye(3))
    print(
        sparse.indices().shape, sparse.values(), sparse._nnz(), dense.to_sparse_csr().layout, sparse.is_sparse
    )
    print(
        sparse.to_dense().nonzero(as_tuple=True)[0], torch.nonzero(dense), sparse.layout == torch.sparse_coo
    )


def show_statistics() -> None:
    A = torch.eye(4, dtype=torch.float64)
    data = torch.tensor([3.0, 1.0, 2.0, 2.0])
    ordered = torch.sort(data, descending=True)
    print(
        ordered.values, ordered.indices, data.median().item(), data.median(dim=0).values, data.mode().values
    )
    print(
        data.kthvalue(2).values,
        data.cummax(0).indices,
        torch.unique(data),
        data.unique(return_counts=True)[1],
    )
    minimum = torch.min(data, dim=0)
    low, high = torch.aminmax(data)
    std, mean = torch.std_mean(data)
    print(
        minimum.values, minimum.indices, low, high, std, mean, torch.quantile(data, 0.5), data.topk(1).values
    )
    histogram = torch.histogram(data, bins=3)
    print(
        histogram.hist,
        histogram.bin_edges,
        torch.bincount(data.long()),
        torch.searchsorted(data.sort().values, 2.0),
    )
    print(
        expit(data),
        torch.special.gammaln(data),
        torch.erf(data),
        torch.where(data > 1, data, 0.0),
        data.clamp(min=1),
    )
    grid = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    print(
        torch.einsum("ij,jk->ik", A, A).shape,
        [g.shape for g in grid],
        torch.cdist(A, A).shape,
        torch.equal(A, A),
    )
    parts = torch.split(torch.arange(6), 2) + torch.chunk(torch.arange(4), 2)
    print(
        parts[0],
        torch.broadcast_shapes((2, 1), (3,)),
        torch.result_type(data, 1),
        data.numpy().sum(),
        torch.pi,
    )
    data += 1
    data[data > 2] = 0
    data[0], data[-1] = 1.0, torch.tensor(2.0)
    print(1 - data, 2**data, -data, ~(data > 0), (data > 0) & (data < 3), data[None, ..., 1:2], data[[0, 1]])


if __name__ == "__main__":
    main()
    show_elements()
    show_statistics()
