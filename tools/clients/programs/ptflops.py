"""ptflops, thop and torchviz: counted multiply-adds by hooks, and the graph of a backward pass."""

import torch
from ptflops import get_model_complexity_info
from thop import profile
from torch import nn
from torchviz import make_dot


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 2))
    products, parameters = get_model_complexity_info(
        model, (3, 8, 8), as_strings=False, print_per_layer_stat=False
    )
    counted, _ = profile(model, inputs=(torch.randn(1, 3, 8, 8),), verbose=False)
    graph = make_dot(model(torch.randn(1, 3, 8, 8)), params=dict(model.named_parameters()))
    return {
        "products": products,
        "parameters": parameters,
        "counted": counted,
        "drawn": "ConvolutionBackward" in graph.source,
    }
