"""timm: models compiled to TorchScript and traced, their archives, and a frozen one."""

import io

import timm
import torch

NAMES = (
    "resnet18",
    "mobilenetv3_small_050",
    "vit_tiny_patch16_224",
    "convnext_atto",
    "efficientnet_b0",
    "regnetx_002",
    "densenet121",
    "mixer_s32_224",
)


def loaded(program, pixels):
    buffer = io.BytesIO()
    torch.jit.save(program, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)(pixels)


def main():
    pixels, outputs = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)), {}
    for name in NAMES:
        torch.manual_seed(0)
        sizes = {"img_size": 64} if name.startswith(("vit", "mixer")) else {}
        model = timm.create_model(name, pretrained=False, num_classes=10, scriptable=True, **sizes).eval()
        with torch.no_grad():
            program = torch.jit.script(model)
            traced = torch.jit.trace(model, pixels)
            frozen = torch.jit.freeze(program)
            outputs[name] = [program(pixels), loaded(program, pixels), loaded(traced, pixels), frozen(pixels)]
    torch.manual_seed(0)
    model = torch.jit.script(timm.create_model("resnet10t", num_classes=4, scriptable=True))
    loss = torch.nn.functional.cross_entropy(model(torch.cat([pixels, pixels.flip(3)])), torch.tensor([1, 2]))
    loss.backward()
    gradients = [float(p.grad.abs().sum()) for p in model.parameters()][:4]
    return {"outputs": outputs, "loss": loss, "gradients": gradients}
