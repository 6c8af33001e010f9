"""Smoke tests of installed packages: `python smoke.py [DIST ...]` runs the test of each named package, or of all.

Each test is a small program that a user could write. It needs the package and its declared dependencies only, so the
file imports no module of `tools`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TESTS: dict[str, Callable[[], None]] = {}


def smoke(dist: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Registers the test of a package."""

    def register(test: Callable[[], None]) -> Callable[[], None]:
        TESTS[dist] = test
        return test

    return register


@smoke("tl-core")
def core() -> None:
    import tl_core

    x = tl_core.arange(6.0).reshape(2, 3)
    assert (x @ x.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
    assert tl_core.linalg.det(tl_core.eye(3)).item() == 1.0


@smoke("tl-autograd")
def autograd() -> None:
    import tl_autograd
    import tl_core

    x = tl_core.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    assert tl_autograd.grad((x**3).sum(), x)[0].tolist() == [3.0, 12.0]


@smoke("tl-nn")
def nn() -> None:
    import tl_core
    import tl_nn
    import tl_nn.optim

    tl_core.manual_seed(0)
    model = tl_nn.Sequential(tl_nn.Linear(2, 8), tl_nn.Tanh(), tl_nn.Linear(8, 1))
    optimizer = tl_nn.optim.Adam(model.parameters(), lr=0.05)
    x = tl_core.randn(64, 2)
    y = x[:, :1] * x[:, 1:]
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = tl_nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, losses


@smoke("tl-backends")
def backends() -> None:
    import tl_backends.backends.mkldnn

    assert tl_backends.backends.mkldnn.is_available() in (True, False)


@smoke("tl-checkpoint")
def checkpoint() -> None:
    import tl_checkpoint
    import tl_core

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.pt"
        tl_checkpoint.save({"x": tl_core.ones(3), "step": 4}, file)
        state = tl_checkpoint.load(file)
    assert state["x"].tolist() == [1.0] * 3 and state["step"] == 4


@smoke("tl-amp")
def amp() -> None:
    import tl_amp
    import tl_core

    scaler = tl_amp.GradScaler("cpu", init_scale=4.0)
    assert scaler.scale(tl_core.ones(2)).tolist() == [4.0, 4.0]


@smoke("tl-data")
def data() -> None:
    import tl_core
    import tl_data

    dataset = tl_data.TensorDataset(tl_core.arange(10.0))
    batches = [batch[0].tolist() for batch in tl_data.DataLoader(dataset, batch_size=4, num_workers=1)]
    assert batches == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0]]


@smoke("tl-distributed")
def distributed() -> None:
    import tl_core
    import tl_distributed

    with tempfile.TemporaryDirectory() as folder:
        tl_distributed.init_process_group("gloo", f"file://{folder}/store", rank=0, world_size=1)
        x = tl_core.ones(3)
        tl_distributed.all_reduce(x)
        tl_distributed.destroy_process_group()
    assert x.tolist() == [1.0] * 3


@smoke("tl-quantization")
def quantization() -> None:
    import tl_core
    from tl_quantization import dtypes, functions, observer

    x = functions.quantize_per_tensor(tl_core.tensor([0.0, 0.5]), 0.5, 0, dtypes.qint8)
    assert x.int_repr().tolist() == [0, 1]
    assert observer.MinMaxObserver()(tl_core.ones(2)).tolist() == [1.0, 1.0]


@smoke("tl-distributions")
def distributions() -> None:
    import tl_core
    import tl_distributions

    normal = tl_distributions.Normal(tl_core.tensor(0.0), tl_core.tensor(1.0))
    assert abs(normal.log_prob(tl_core.tensor(0.0)).item() + 0.9189385) < 1e-6


@smoke("tl-compiler")
def compiler() -> None:
    import tl_compiler.fx
    import tl_core
    import tl_nn
    from tl_compiler import _C
    from tl_compiler.compiler import compile  # noqa: A004

    class Model(tl_nn.Module):
        def forward(self, x: tl_core.Tensor) -> tl_core.Tensor:
            return x.relu() + 1

    graph = tl_compiler.fx.symbolic_trace(Model())
    assert graph(tl_core.tensor([-1.0, 1.0])).tolist() == [1.0, 2.0]
    before = _C.counters()["operators"]
    assert compile(Model())(tl_core.full((2048,), -1.0)).sum().item() == 2048.0
    assert _C.counters()["operators"] == before + 2


@smoke("tl-utils")
def utils() -> None:
    import tl_utils.benchmark

    assert tl_utils.benchmark.Timer("1 + 1").timeit(10).median > 0


@smoke("tl-profiler")
def profiler() -> None:
    import tl_core
    import tl_profiler

    with tl_profiler.profile() as profile:
        tl_core.ones(4).add(1)
    assert any("add" in event.key for event in profile.key_averages())


@smoke("tl-all")
def everything() -> None:
    import tl

    model = tl.nn.Linear(3, 1)
    tl.optim.SGD(model.parameters(), lr=0.1).step()
    with tempfile.TemporaryDirectory() as folder:
        tl.save(model.state_dict(), f"{folder}/model.pt")
        model.load_state_dict(tl.load(f"{folder}/model.pt"))
    assert tl.version.__version__ == tl.__version__


def main() -> None:
    """Runs the tests, and prints one line for each."""
    for dist in sys.argv[1:] or TESTS:
        TESTS[dist]()
        print(f"{dist}: works")


if __name__ == "__main__":
    main()
