"""A training that can be killed and started again: `training_program.py FOLDER STEPS [KILLS]`.

Rank 0 keeps a state in the folder after each step; a start continues from it. In the attempt with number n, the n-th
word of KILLS, `RANK:STEP`, says which rank kills itself at which step, or `-` that none does; each step is slowed down
by TL_STEP_SECONDS. The folder's file `log` says when each attempt came to its first step, and when a rank died.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.parallel import DistributedDataParallel


def keep(path: Path, value: object) -> None:
    """Writes a file as a whole."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.rename(path)


def say(folder: Path, text: str) -> None:
    with open(folder / "log", "a") as log:
        log.write(f"{text} {time.time()}\n")


def parts(model: nn.Module, optimizer: nn.optim.Optimizer) -> list[tl.Tensor]:
    """All that a step changes."""
    parameters = list(model.parameters())
    for p in parameters:
        optimizer.state[p].setdefault("momentum_buffer", tl.zeros_like(p))
    return [p.detach() for p in parameters] + [optimizer.state[p]["momentum_buffer"] for p in parameters]


def main() -> None:
    folder, steps, kills = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    plan = kills[attempt] if attempt < len(kills) else "-"
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    tl.manual_seed(0)
    inner = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    model = DistributedDataParallel(inner)
    optimizer = nn.optim.SGD(inner.parameters(), lr=0.1, momentum=0.9)
    state, losses = folder / "state.json", []
    if state.exists():
        stored = json.loads(state.read_text())
        losses = stored["losses"]
        for part, values in zip(parts(inner, optimizer), stored["parts"], strict=True):
            part.copy_(tl.tensor([float.fromhex(v) for v in values]).view(part.shape))
    for step in range(len(losses), steps):
        if step == len(losses) and rank == 0:
            say(folder, "step")
        data = tl.randn(4 * size, 6, generator=tl.Generator().manual_seed(step))[rank::size]
        loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if plan == f"{rank}:{step}":
            say(folder, "kill")
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item().hex())
        time.sleep(float(os.environ.get("TL_STEP_SECONDS", "0")))
        if rank == 0:
            values = [[v.hex() for v in p.reshape(-1).tolist()] for p in parts(inner, optimizer)]
            keep(state, {"losses": losses, "parts": values})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
