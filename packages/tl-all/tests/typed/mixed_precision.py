"""Mixed precision: autocast, a gradient scaler, accumulation, and recomputed activations."""

import tl as torch
from tl import Tensor, nn
from tl.amp import GradScaler, autocast
from tl.utils.checkpoint import checkpoint, checkpoint_sequential


class Model(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.norm = nn.RMSNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + checkpoint(self.layers, x, use_reentrant=False)
        x = x + checkpoint_sequential(self.layers, 2, x, use_reentrant=False)
        y: Tensor = self.norm(x)
        return y


@torch.autocast("cpu", dtype=torch.bfloat16)
def evaluate(model: nn.Module, x: Tensor) -> Tensor:
    result: Tensor = model(x)
    return result


def main() -> None:
    torch.manual_seed(0)
    device_type = "cuda" if torch.cuda.is_available() else "cpu"
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler(device_type, enabled=True, init_scale=2.0**10)
    dtypes: dict[str, torch.dtype] = {"bfloat16": torch.bfloat16, "float32": torch.float32}
    for i in range(4):
        with autocast(device_type=device_type, dtype=dtypes["bfloat16"], enabled=True):
            loss = model(torch.randn(8, 16)).pow(2).mean() / 2
        scaler.scale(loss).backward()
        if i % 2 == 1:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, norm_type=2.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        print(loss.detach().float().item(), scaler.get_scale())
    y = evaluate(model, torch.randn(2, 16))
    print(y.dtype, y.half().dtype, torch.finfo(torch.bfloat16).eps, torch.iinfo(torch.int8).max)
    print(torch.is_autocast_enabled(), torch.get_autocast_dtype("cpu"), scaler.state_dict()["scale"])


if __name__ == "__main__":
    main()
