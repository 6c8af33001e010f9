"""Saving and loading: state dicts, checkpoints of several objects, buffers, frozen and shared parts."""

import copy
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import tl as torch
from tl import Tensor, nn
from tl.optim import Adam
from tl.optim.lr_scheduler import ExponentialLR


class Checkpoint(TypedDict):
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    step: int


class Head(nn.Module):
    running: Tensor

    def __init__(self, n: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n))
        self.bias: nn.Parameter | None = None
        self.register_parameter("gain", nn.Parameter(torch.ones(n)))
        self.register_buffer("running", torch.zeros(n))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.weight, -0.1, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.running.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x * self.weight - self.running

    def extra_repr(self) -> str:
        return f"n={self.weight.numel()}"


class Trainer:
    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
        self.scheduler = ExponentialLR(self.optimizer, gamma=0.9)
        self.step = 0

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "step": self.step,
            "rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        missing, unexpected = self.model.load_state_dict(state["model"], strict=False)
        assert not missing and not unexpected
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.step = state["step"]
        torch.set_rng_state(state["rng"])


def main() -> None:
    model = nn.Sequential(nn.Linear(3, 3), Head(3))
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    trainer = Trainer(model)
    model(torch.ones(2, 3)).sum().backward()
    trainer.optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "last.pt"
        torch.save(trainer.state_dict(), path)
        state = torch.load(path, map_location="cpu", weights_only=True)
        trainer.load_state_dict(state)
        state_of_model: dict[str, Tensor] = torch.load(str(path), map_location=torch.device("cpu"))["model"]
        print(sorted(state_of_model), path.stat().st_size > 0)
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    full: nn.Module = torch.load(buffer, weights_only=False)
    result = full.load_state_dict(model.state_dict())
    print(result.missing_keys, result.unexpected_keys)
    twin = copy.deepcopy(model)
    for own, other in zip(twin.parameters(), model.parameters(), strict=True):
        own.data.copy_(other.data)
    checkpoint: Checkpoint = {"model": twin.state_dict(), "optimizer": {}, "step": 3}
    print(
        checkpoint["step"],
        dict(twin.named_buffers())["1.running"],
        twin.get_submodule("1"),
        twin.get_parameter("0.bias"),
    )
    print([name for name, child in twin.named_children()], [type(m).__name__ for m in twin.modules()])
    twin.double().half().to(torch.float32).requires_grad_(False).zero_grad()


if __name__ == "__main__":
    main()
