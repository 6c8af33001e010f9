"""A training loop as a beginner writes it: a model, a loss, an optimizer, and an accuracy."""

import tl as torch
import tl.nn.functional as F
from tl import Tensor, nn, optim
from tl.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, n_features: int, n_classes: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Dropout(dropout))
        self.head = nn.Linear(32, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.body(x)
        return F.log_softmax(self.head(h), dim=-1)


def accuracy(model: nn.Module, loader: DataLoader[tuple[Tensor, ...]], device: torch.device) -> float:
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device, non_blocking=True)
            predicted = model(x).argmax(dim=1)
            correct += int((predicted == y).sum().item())
            total += y.size(0)
    return correct / total


def train_epoch(
    model: nn.Module, loader: DataLoader[tuple[Tensor, ...]], optimizer: optim.Optimizer, device: torch.device
) -> float:
    model.train()
    sum_of_losses = 0.0
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad(set_to_none=True)
        loss = F.nll_loss(model(x.to(device)), y.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        sum_of_losses += loss.item()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.3f}")
    return sum_of_losses / len(loader)


@torch.no_grad()
def norm_of_weights(model: nn.Module) -> float:
    squares = [p.detach().pow(2).sum() for p in model.parameters() if p.requires_grad]
    return float(torch.stack(squares).sum().sqrt())


def main() -> None:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(256, 8)
    y = (x[:, 0] > 0).long()
    train, test = random_split(TensorDataset(x, y), [200, 56], generator=torch.Generator().manual_seed(1))
    model = Net(8, 2).to(device)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.98), weight_decay=0.01)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    for epoch in range(3):
        loss = train_epoch(model, DataLoader(train, batch_size=32, shuffle=True), optimizer, device)
        scheduler.step()
        print(epoch, loss, scheduler.get_last_lr()[0], optimizer.param_groups[0]["lr"])
    print(accuracy(model, DataLoader(test, batch_size=64), device), norm_of_weights(model))
    n_parameters = sum(p.numel() for p in model.parameters())
    print(f"{n_parameters=}, {next(model.parameters()).dtype}")


if __name__ == "__main__":
    main()
