"""geoopt: points on spheres, frames and positive matrices walk downhill along geodesics."""

import geoopt
import torch


def main():
    outputs = {}
    for name, manifold, shape in (
        ("sphere", geoopt.Sphere(), (5, 4)),
        ("stiefel", geoopt.Stiefel(), (5, 3)),
        ("spd", geoopt.SymmetricPositiveDefinite(), (3, 3)),
    ):
        torch.manual_seed(3)
        start, target = (manifold.random(*shape, dtype=torch.float64) for _ in range(2))
        point, losses = geoopt.ManifoldParameter(start, manifold=manifold), []
        for kind in (geoopt.optim.RiemannianAdam, geoopt.optim.RiemannianSGD):
            optimizer = kind([point], lr=1e-2)
            for _ in range(3):
                loss = (point - target).square().sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        outputs[name] = {"losses": losses, "point": point}
    return outputs
