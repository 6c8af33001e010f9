"""kornia: filters, color, geometry and augmentation of pictures, with gradients."""

import kornia
import torch


def main():
    torch.manual_seed(0)
    picture = torch.rand(1, 3, 20, 24, requires_grad=True)
    blurred = kornia.filters.gaussian_blur2d(picture, (5, 5), (1.5, 1.5))
    angle = torch.tensor([30.0])
    turned = kornia.geometry.transform.rotate(blurred, angle)
    turned.sum().backward()
    corners = kornia.feature.harris_response(kornia.color.rgb_to_grayscale(picture))
    points = torch.tensor([[[0.0, 0.0], [10.0, 0.0], [10.0, 8.0], [0.0, 8.0]]])
    matrix = kornia.geometry.transform.get_perspective_transform(points, points + 1.0)
    warped = kornia.geometry.transform.warp_perspective(picture, matrix, (20, 24))
    return {
        "turned": turned,
        "gradient": picture.grad,
        "hsv": kornia.color.rgb_to_hsv(picture),
        "edges": kornia.filters.sobel(picture),
        "corners": corners,
        "warped": warped,
    }
