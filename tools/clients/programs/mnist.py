"""The examples of PyTorch: a convolutional net on pictures of digits, as the MNIST example trains it."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3)
        self.fc1, self.fc2 = nn.Linear(16 * 3 * 3, 32), nn.Linear(32, 10)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        x = self.dropout(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def main():
    torch.manual_seed(1)
    digits = load_digits()
    pixels = torch.from_numpy(digits.images.astype(np.float32) / 16).unsqueeze(1)
    data = torch.utils.data.TensorDataset(pixels, torch.from_numpy(digits.target).long())
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    model = Net()
    optimizer, losses = optim.Adadelta(model.parameters(), lr=1.0), []
    schedule = StepLR(optimizer, step_size=1, gamma=0.7)
    for _ in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    model.eval()
    right = (model(pixels).argmax(1) == data.tensors[1]).float().mean().item()
    return {"losses": losses[:5], "learned": right > 0.9}
