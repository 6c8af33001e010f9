"""vit-pytorch: several vision transformers, forward and backward."""

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT


def main():
    torch.manual_seed(0)
    common = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "heads": 4, "mlp_dim": 64}
    plain = ViT(depth=2, **common)
    models = {
        "vit": plain,
        "simple": SimpleViT(depth=2, **common),
        "cait": CaiT(depth=1, cls_depth=1, **common),
    }
    pixels, outputs = torch.randn(2, 3, 32, 32), {}
    for name, model in models.items():
        outputs[name] = model.eval()(pixels)
    torch.nn.functional.cross_entropy(outputs["vit"], torch.tensor([1, 3])).backward()
    return {"outputs": outputs, "gradient": plain.pos_embedding.grad}
