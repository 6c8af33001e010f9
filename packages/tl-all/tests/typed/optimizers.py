"""An optimizer and a scheduler of a program's own, with closures, several groups and averaged weights."""

from collections.abc import Callable, Iterable
from typing import Any, overload

import tl as torch
from tl import Tensor, nn
from tl.optim import SGD, Adam, Optimizer
from tl.optim.lr_scheduler import (
    LinearLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from tl.optim.swa_utils import AveragedModel, update_bn


class Lion(Optimizer):
    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
    ) -> None:
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, {"lr": lr, "betas": betas})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss: float | None = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                average = state["exp_avg"]
                update = average.lerp(p.grad, 1 - beta1).sign_()
                p.add_(update, alpha=-group["lr"])
                average.lerp_(p.grad, 1 - beta2)
        return loss


class Warmup(LRScheduler):
    def __init__(self, optimizer: Optimizer, n_steps: int, last_epoch: int = -1) -> None:
        self.n_steps = n_steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factor = min(1.0, (self.last_epoch + 1) / self.n_steps)
        return [base * factor for base in self.base_lrs]


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer = Lion(
        [{"params": model[0].parameters(), "lr": 1e-3}, {"params": model[2].parameters()}], lr=1e-2
    )
    schedule = Warmup(optimizer, 5)
    averaged = AveragedModel(model)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        schedule.step()
        averaged.update_parameters(model)
    update_bn([x], averaged)
    print(schedule.get_last_lr(), schedule.state_dict(), optimizer.state_dict()["param_groups"][0]["lr"])

    lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        lbfgs.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    print(float(lbfgs.step(closure)))
    sgd = SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    first, second = LinearLR(sgd, start_factor=0.1, total_iters=2), StepLR(sgd, step_size=2, gamma=0.5)
    chained = SequentialLR(sgd, schedulers=[first, second], milestones=[2])
    plateau = ReduceLROnPlateau(Adam(model.parameters()), mode="min", patience=2)
    cycle = OneCycleLR(SGD(model.parameters(), lr=0.1), max_lr=0.1, total_steps=10)
    for scheduler in (chained, cycle):
        scheduler.optimizer.step()
        scheduler.step()
    plateau.step(0.5)
    sgd.add_param_group({"params": nn.Parameter(torch.zeros(2)), "lr": 0.01})
    handle = sgd.register_step_post_hook(lambda optimizer, args, kwargs: None)
    handle.remove()


if __name__ == "__main__":
    main()
