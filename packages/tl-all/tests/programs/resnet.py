"""Trains a small residual network to tell textures apart, and checks the saved weights.

python resnet.py --epochs 3
"""

import argparse
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes, width=8):
        super().__init__()
        self.in_planes = width
        self.conv1 = nn.Conv2d(1, width, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._make_layer(block, width, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 2 * width, num_blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 4 * width, num_blocks[2], stride=2)
        self.linear = nn.Linear(4 * width * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def _make_layer(self, block, planes, num_blocks, stride):
        layers = []
        for s in [stride] + [1] * (num_blocks - 1):
            layers.append(block(self.in_planes, planes, s))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.adaptive_avg_pool2d(out, 1)
        return self.linear(torch.flatten(out, 1))


def textures(n, size=12, noise=0.6):
    """Images of stripes in four directions, shifted and covered with noise, and their classes."""
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    phases = torch.stack([x, y, x + y, x - y])
    labels = torch.randint(0, 4, (n,))
    shift = torch.randint(0, 4, (n, 1, 1))
    images = (((phases[labels] + shift) % 4) < 2).float() * 2 - 1
    images = images + noise * torch.randn(n, size, size)
    return images.unsqueeze(1), labels


def train(model, device, batches, optimizer, scheduler, criterion):
    model.train()
    total = 0.0
    for data, target in batches:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(batches)


def test(model, device, data, target):
    model.eval()
    with torch.no_grad():
        pred = model(data.to(device)).argmax(dim=1)
    return pred.eq(target.to(device)).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    data, target = textures(512)
    test_data, test_target = textures(256)
    mean, std = data.mean(), data.std()
    data, test_data = (data - mean) / std, (test_data - mean) / std

    model = ResNet(BasicBlock, [1, 1, 1], num_classes=4).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    steps = len(data) // args.batch_size
    scheduler = optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, epochs=args.epochs, steps_per_epoch=steps
    )

    print(f"untrained accuracy {test(model, device, test_data, test_target):.3f}")
    for epoch in range(1, args.epochs + 1):
        perm = torch.randperm(len(data))[: steps * args.batch_size].view(steps, args.batch_size)
        loss = train(model, device, [(data[i], target[i]) for i in perm], optimizer, scheduler, criterion)
        accuracy = test(model, device, test_data, test_target)
        print(f"epoch {epoch}: loss {loss:.4f} lr {scheduler.get_last_lr()[0]:.5f} accuracy {accuracy:.3f}")

    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    again = ResNet(BasicBlock, [1, 1, 1], num_classes=4).to(device)
    again.load_state_dict(torch.load(buffer, map_location=device))
    print(f"accuracy {accuracy:.3f} loaded {test(again, device, test_data, test_target):.3f}")


if __name__ == "__main__":
    main()
