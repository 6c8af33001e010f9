"""A residual network with batch normalization, pools and initialization."""

from collections import OrderedDict
from collections.abc import Callable

import tl as torch
import tl.nn as nn
import tl.nn.functional as F
from tl import Tensor
from tl.nn import init


class Block(nn.Module):
    expansion: int = 1

    def __init__(
        self, c_in: int, c_out: int, stride: int = 1, norm: Callable[[int], nn.Module] = nn.BatchNorm2d
    ):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, kernel_size=3, stride=stride, padding=1, bias=False)
        self.norm1 = norm(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, (3, 3), padding="same", bias=False)
        self.norm2 = norm(c_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or c_in != c_out:
            self.shortcut = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride=stride, bias=False), norm(c_out))

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.norm1(self.conv1(x)), inplace=True)
        h = self.norm2(self.conv2(h))
        h = h + self.shortcut(x)
        return F.relu(h)


class ResNet(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (8, 16), n_classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            OrderedDict(
                [
                    ("conv", nn.Conv2d(3, widths[0], 3, padding=1)),
                    ("pool", nn.MaxPool2d(kernel_size=2, stride=2)),
                ]
            )
        )
        stages: list[nn.Module] = []
        c_in = widths[0]
        for i, c_out in enumerate(widths):
            stages.append(Block(c_in, c_out, stride=1 if i == 0 else 2))
            c_in = c_out
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Linear(c_in * Block.expansion, n_classes)
        self.apply(self._initialize)

    @staticmethod
    def _initialize(module: nn.Module) -> None:
        if isinstance(module, nn.Conv2d):
            init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            init.constant_(module.weight, 1)
            init.constant_(module.bias, 0)
        elif isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stages(self.stem(x))
        x = torch.flatten(self.pool(x), 1)
        logits: Tensor = self.classifier(x)
        return logits


def top_k_accuracy(logits: Tensor, target: Tensor, topk: tuple[int, ...] = (1, 5)) -> list[float]:
    _, predicted = logits.topk(max(topk), dim=1, largest=True, sorted=True)
    correct = predicted.t().eq(target.view(1, -1).expand_as(predicted.t()))
    return [correct[:k].reshape(-1).float().sum(0).mul(100.0 / target.size(0)).item() for k in topk]


def normalize(images: Tensor, mean: tuple[float, float, float], std: tuple[float, float, float]) -> Tensor:
    m = torch.tensor(mean, dtype=images.dtype, device=images.device)[:, None, None]
    s = torch.as_tensor(std, dtype=images.dtype, device=images.device).view(-1, 1, 1)
    return (images - m).div_(s)


def main() -> None:
    torch.manual_seed(0)
    model = ResNet().to(memory_format=torch.channels_last)
    images = normalize(torch.rand(4, 3, 16, 16), (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    n, c, height, width = images.shape
    resized = F.interpolate(images, size=(height // 2, width // 2), mode="bilinear", align_corners=False)
    padded = F.pad(resized, (1, 1, 1, 1), mode="reflect")
    logits = model(padded)
    target = torch.randint(0, 10, (n,))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    loss = criterion(logits, target)
    loss.backward()
    values, indices = logits.softmax(dim=1).max(dim=1)
    best = logits.max(1)
    print(top_k_accuracy(logits, target), values.shape, best.values.mean().item(), best.indices.tolist(), c)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
    print(indices, model.stages[0], len(model.stages), model.state_dict().keys())


if __name__ == "__main__":
    main()
