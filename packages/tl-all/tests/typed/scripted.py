"""TorchScript: traced and scripted models, archives, frozen models, tasks."""

import io
from typing import Final

import tl as torch
from tl import Tensor, nn
from tl.jit import RecursiveScriptModule, ScriptFunction, ScriptModule


class Gate(nn.Module):
    limit: Final[float]

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        if float(y.norm()) > self.limit:
            y = y * 0.5
        return y

    @torch.jit.export
    def scaled(self, x: Tensor, factor: float) -> Tensor:
        return x * factor

    @torch.jit.ignore
    def note(self) -> str:
        return "outside"


@torch.jit.script
def clipped(x: Tensor, limit: float) -> Tensor:
    return x.clamp(min=-limit, max=limit)


def double(x: Tensor) -> Tensor:
    return x * 2


def main() -> None:
    model = Gate(1.0).eval()
    scripted = torch.jit.script(model)
    print(scripted(torch.ones(2, 3)).shape, scripted.code[:3], clipped(torch.ones(2), 0.5).sum().item())
    traced = torch.jit.trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), torch.ones(1, 3))
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    buffer.seek(0)
    extra = {"labels.txt": ""}
    loaded: ScriptModule = torch.jit.load(buffer, map_location="cpu", _extra_files=extra)
    print(loaded.eval()(torch.ones(1, 3)).shape, isinstance(scripted, RecursiveScriptModule))
    frozen = torch.jit.freeze(torch.jit.trace(model.linear.eval(), torch.ones(1, 3)))
    print(len(list(frozen.parameters())))
    function = torch.jit.trace(double, (torch.ones(2),))
    print(isinstance(function, ScriptFunction), torch.jit.is_scripting())
    future = torch.jit.fork(double, torch.ones(2))
    print(torch.jit.wait(future).sum().item())


if __name__ == "__main__":
    main()
