"""captum: attributions of a small net by gradients, integration, ablation and hooks."""

import numpy as np
import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    IntegratedGradients,
    LayerConductance,
    Saliency,
)
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    x = torch.randn(4, 6)
    torch.manual_seed(1)
    np.random.seed(1)  # GradientShap draws its points from NumPy
    return {
        "integrated": IntegratedGradients(model).attribute(x, target=1, n_steps=20),
        "saliency": Saliency(model).attribute(x, target=1),
        "lift": DeepLift(model).attribute(x, target=2),
        "ablation": FeatureAblation(model).attribute(x, target=0),
        "shap": GradientShap(model).attribute(x, torch.zeros(2, 6), target=1),
        "conductance": LayerConductance(model, model[0]).attribute(x, target=1, n_steps=10),
    }
