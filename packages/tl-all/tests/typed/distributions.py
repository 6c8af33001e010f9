"""A variational autoencoder and a policy gradient: distributions, divergences, transforms."""

import tl as torch
import tl.distributions as dist
from tl import Tensor, nn
from tl.distributions import Bernoulli, Categorical, Independent, Normal, kl_divergence
from tl.distributions.transforms import AffineTransform, ExpTransform


class VAE(nn.Module):
    def __init__(self, n: int, latent: int) -> None:
        super().__init__()
        self.encoder = nn.Linear(n, 2 * latent)
        self.decoder = nn.Linear(latent, n)
        self.latent = latent

    def encode(self, x: Tensor) -> Normal:
        mean, log_std = self.encoder(x).chunk(2, dim=-1)
        return Normal(mean, log_std.exp())

    def forward(self, x: Tensor) -> Tensor:
        posterior = self.encode(x)
        z = posterior.rsample()
        likelihood = Independent(Bernoulli(logits=self.decoder(z)), 1)
        prior = Normal(torch.zeros_like(z), 1.0)
        divergence = kl_divergence(posterior, prior).sum(-1)
        return (divergence - likelihood.log_prob(x)).mean()


def policy_loss(logits: Tensor, rewards: Tensor) -> Tensor:
    policy = Categorical(logits=logits)
    action = policy.sample()
    return -(policy.log_prob(action) * rewards).mean() - 0.01 * policy.entropy().mean()


class Reinforce:
    def __init__(self, policy: nn.Module) -> None:
        self.policy = policy
        self.log_probs: list[Tensor] = []

    def act(self, observation: Tensor) -> int:
        d = Categorical(self.policy(observation).softmax(-1))
        a = d.sample()
        self.log_probs.append(d.log_prob(a))
        return int(a.item())


def main() -> None:
    torch.manual_seed(0)
    model = VAE(6, 2)
    loss = model(torch.rand(8, 6).bernoulli())
    loss.backward()
    print(loss.item(), policy_loss(torch.randn(4, 3, requires_grad=True), torch.ones(4)))
    agent = Reinforce(nn.Linear(3, 2))
    print(agent.act(torch.randn(3)), torch.stack(agent.log_probs).sum())
    base = Normal(torch.tensor(0.0), torch.tensor(1.0))
    log_normal = dist.TransformedDistribution(base, [AffineTransform(loc=0.0, scale=2.0), ExpTransform()])
    print(log_normal.sample(torch.Size([3])), log_normal.rsample((2,)).shape)
    mixture = dist.MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), torch.ones(2)))
    mvn = dist.MultivariateNormal(torch.zeros(2), covariance_matrix=torch.eye(2))
    print(mixture.log_prob(torch.tensor(0.5)), mvn.mean, mvn.variance, mvn.batch_shape, mvn.event_shape)
    p = dist.Beta(2.0, 3.0)
    print(p.mean.item(), p.stddev, p.support, dist.constraints.positive.check(torch.tensor(1.0)))


if __name__ == "__main__":
    main()
