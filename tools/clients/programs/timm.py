"""timm: models by name, their features, and a training step with its optimizer, loss and schedule."""

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

NAMES = ("resnet18", "mobilenetv3_small_050", "vit_tiny_patch16_224", "convnext_atto", "efficientnet_b0")


def main():
    pixels, outputs = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0)), {}
    for name in NAMES:
        torch.manual_seed(0)
        sizes = {"img_size": 64} if name.startswith("vit") else {}
        model = timm.create_model(name, pretrained=False, num_classes=10, **sizes).eval()
        outputs[name] = model(pixels)
    torch.manual_seed(0)
    model = timm.create_model("resnet10t", num_classes=4, drop_rate=0.0)
    optimizer = create_optimizer_v2(model, opt="lamb", lr=1e-3, weight_decay=0.01)
    schedule, loss_of = CosineLRScheduler(optimizer, t_initial=10), LabelSmoothingCrossEntropy()
    losses = []
    for step in range(3):
        loss = loss_of(model(pixels), torch.tensor([1, 2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        losses.append(loss.item())
    features = timm.create_model("resnet18", features_only=True).eval()(pixels)
    return {"outputs": outputs, "losses": losses, "features": [list(f.shape) for f in features]}
