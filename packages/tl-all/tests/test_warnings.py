"""What is deprecated warns with PyTorch's category, once a process or each time as PyTorch does; recorded from
PyTorch 2.13 but for what later releases than 2.7 deprecated.
"""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import tl as torch

np = pytest.importorskip("numpy")

ONCE = """
torch.tensor([np.ones(2), np.ones(2)])         | Creating a tensor from a list of numpy.ndarrays is extremely slow
torch.as_tensor(read_only)                     | The given NumPy array is not writable
torch.cholesky(eye)                            | torch.cholesky is deprecated in favor of torch.linalg.cholesky
torch.qr(eye)                                  | torch.qr is deprecated in favor of torch.linalg.qr
torch.lu_solve(eye, eye, pivots)               | torch.lu_solve is deprecated in favor of torch.linalg.lu_solve
torch.triangular_solve(eye, eye)               | torch.triangular_solve is deprecated in favor of
torch.chain_matmul(eye, eye)                   | torch.chain_matmul is deprecated
torch.cross(ones(2, 3), ones(2, 3))            | Using torch.cross without specifying the dim arg is deprecated
ones(3).T                                      | The use of `x.T` on tensors of dimension other than 2
torch.tensor(1.0).T                            | Tensor.T is deprecated on 0-D tensors
torch.tensor(1.0).mT                           | Tensor.mT.* deprecated on 0-D tensors
ones(3)[bytes_]                                | indexing with dtype torch.uint8 is now deprecated
torch.where(bytes_, ones(3), 0)                | where received a uint8 condition tensor
ones(3).scatter(0, index, ones(1), reduce="add") | The reduce argument of torch.scatter with Tensor src is deprecated
"""
EACH_TIME = """
torch.tensor(ones(2))                          | To copy construct from a tensor
ones(2).new_tensor(ones(2))                    | To copy construct from a tensor
torch.lu(eye)                                  | torch.lu is deprecated in favor of torch.linalg.lu_factor
torch.meshgrid(ones(2), ones(3))               | torch.meshgrid: in an upcoming release
torch.range(0, 2)                              | range
ones(1).std()                                  | std\\(\\): degrees of freedom is <= 0
ones(0).var()                                  | var\\(\\): degrees of freedom is <= 0
ones(2, 2)[[[0, 1], [0, 1]]]                   | Using a non-tuple sequence for multidimensional indexing is deprecated
ones(2, dtype=torch.complex64).float()         | Casting complex values to real discards the imaginary part
torch.add(ones(2), 1, out=ones(3))             | An output with one or more elements was resized
ones(2).storage()                              | TypedStorage is deprecated
ones(2).volatile                               | volatile was removed
(leaf * 2).grad                                | The .grad attribute of a Tensor that is not a leaf
(leaf * 2).sum().backward(create_graph=True)   | Using backward\\(\\) with create_graph=True
torch.autograd.Variable(ones(2), volatile=True) | volatile was removed
torch.utils.checkpoint.checkpoint(torch.sin, leaf) | the use_reentrant parameter should be passed explicitly
torch.utils.checkpoint.checkpoint_sequential([torch.sin], 1, leaf) | the use_reentrant parameter should be passed
torch.nn.functional.softmax(ones(2, 2))        | Implicit dimension choice for softmax
torch.nn.functional.mse_loss(ones(2, 1), ones(2)) | Using a target size
torch.nn.MSELoss(size_average=True)            | size_average and reduce args will be deprecated
torch.nn.LSTM(2, 2, dropout=0.5)               | dropout option adds dropout after all but last
torch.nn.Linear(2, 2).to(torch.complex64)      | Complex modules are a new feature
scheduler().step()                             | Detected call of `lr_scheduler.step\\(\\)` before
plateau().step(1.0, epoch=2)                   | The epoch parameter in `scheduler.step\\(\\)` was not necessary
torch.utils.data.DataLoader([1], num_workers=10_000) | This DataLoader will create 10000 worker processes
torch.nn.init.uniform(ones(2))                 | F: nn.init.uniform.* deprecated
torch.nn.NLLLoss2d()                           | F: `NLLLoss2d` has been deprecated
torch.cuda.amp.custom_fwd(torch.sin)           | F: `torch.cuda.amp.custom_fwd\\(args...\\)` is deprecated
torch.backends.cuda.sdp_kernel().__enter__()   | F: `torch.backends.cuda.sdp_kernel\\(\\)` is deprecated
torch.utils._pytree._register_pytree_node(type("Node", (), {}), list, list) | F: is deprecated
torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)) | F: weight_norm
"""


def table(text: str) -> list[tuple[str, type[Warning], str]]:
    rows = (line.split("|") for line in text.strip().splitlines())
    return [
        (code.strip(), FutureWarning, message.strip()[3:])
        if "F:" in message
        else (code.strip(), UserWarning, message.strip())
        for code, message in rows
    ]


def names() -> dict[str, object]:
    read_only = np.ones(2)
    read_only.flags.writeable = False
    weight = torch.ones(2)
    return {
        "torch": torch, "np": np, "ones": torch.ones, "eye": torch.eye(2), "read_only": read_only,
        "pivots": torch.tensor([1, 2], dtype=torch.int32), "index": torch.tensor([0]),
        "bytes_": torch.tensor([1, 0, 1], dtype=torch.uint8), "leaf": torch.ones(2, requires_grad=True),
        "scheduler": lambda: torch.optim.lr_scheduler.StepLR(torch.optim.SGD([weight], 0.1), 1),
        "plateau": lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([weight], 0.1)),
    }  # fmt: skip


@pytest.fixture
def always():
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.parametrize("code, category, message", table(ONCE) + table(EACH_TIME))
def test_what_is_deprecated_warns(code, category, message, always):
    with pytest.warns(category, match=message or None):
        eval(code, names())


@pytest.mark.parametrize("code, category, message", table(EACH_TIME))
def test_what_warns_each_time_needs_no_switch(code, category, message):
    for _ in range(2):
        with pytest.warns(category, match=message or None):
            eval(code, names())


PROGRAM = """
import warnings, tl as torch
with warnings.catch_warnings(record=True) as shown:
    warnings.simplefilter("always")
    for always in (False, True):
        torch.set_warn_always(always)
        for _ in range(3):
            torch.cholesky(torch.eye(2))
        print(len(shown))
"""


def test_a_deprecation_is_shown_once_a_process_unless_asked_for_always():
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert process.stdout.split() == ["1", "4"]


def test_what_isn_t_deprecated_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eye = torch.eye(2)
        assert eye.T.shape == eye.mT.shape == eye.H.shape == (2, 2)
        torch.linalg.qr(eye), torch.linalg.cholesky(eye), torch.linalg.lu_factor(eye)
        torch.meshgrid(torch.ones(2), torch.ones(3), indexing="ij")
        torch.cross(torch.ones(2, 3), torch.ones(2, 3), dim=1)
        torch.ones(2).std(), torch.ones(3)[torch.tensor([True, False, True])]
        torch.ones(2, 2)[[0, 1]], torch.ones(3).scatter_reduce(0, torch.tensor([0]), torch.ones(1), "sum")
        leaf = torch.ones(2, requires_grad=True)
        torch.autograd.grad((leaf * leaf).sum(), leaf, create_graph=True)
