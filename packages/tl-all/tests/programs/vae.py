"""Trains a variational autoencoder on images of bars, and draws new ones.

python vae.py --epochs 30
"""

import argparse

import torch
from torch import nn, optim
from torch.nn import functional as F

SIZE = 6


class VAE(nn.Module):
    def __init__(self, hidden=64, latent=6):
        super().__init__()
        self.latent = latent
        self.fc1 = nn.Linear(SIZE * SIZE, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, SIZE * SIZE)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, SIZE * SIZE))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, SIZE * SIZE), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def bars(n, generator):
    """Images with one to three full rows, or as many full columns."""
    order = torch.rand(n, SIZE, generator=generator).argsort(dim=1)
    count = torch.randint(1, 4, (n, 1), generator=generator)
    rows = (order < count).float().unsqueeze(2).expand(n, SIZE, SIZE)
    flip = torch.rand(n, 1, 1, generator=generator) < 0.5
    return torch.where(flip, rows, rows.transpose(1, 2)).contiguous()


def train(model, optimizer, images, batch_size):
    model.train()
    total = 0.0
    for batch in images[torch.randperm(len(images))].split(batch_size):
        optimizer.zero_grad()
        recon, mu, logvar = model(batch)
        loss = loss_function(recon, batch, mu, logvar)
        loss.backward()
        total += loss.item()
        optimizer.step()
    return total / len(images)


def test(model, images):
    model.eval()
    with torch.no_grad():
        recon, mu, logvar = model(images)
        return loss_function(recon, images, mu, logvar).item() / len(images)


def independent_pixels(images):
    """The loss, in nats an image, of the best model that knows each pixel's mean only."""
    p = images.mean(dim=0).clamp(1e-6, 1 - 1e-6)
    return F.binary_cross_entropy(p.expand_as(images), images, reduction="sum").item() / len(images)


def main():
    parser = argparse.ArgumentParser(description="VAE of bars")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=10)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    generator = torch.Generator().manual_seed(args.seed)
    images, held_out = bars(1500, generator), bars(500, generator)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, optimizer, images, args.batch_size)
        if epoch % args.log_interval == 0:
            print(f"====> Epoch: {epoch} Average loss: {loss:.4f}")
    print(f"held out {test(model, held_out):.4f} independent pixels {independent_pixels(held_out):.4f}")

    with torch.no_grad():
        sample = model.decode(torch.randn(5, model.latent)).view(-1, SIZE, SIZE) > 0.5
    for rows in zip(*sample.tolist()):
        print("   ".join("".join("#" if pixel else "." for pixel in row) for row in rows))


if __name__ == "__main__":
    main()
