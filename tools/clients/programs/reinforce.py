"""The examples of PyTorch: REINFORCE and an actor with a critic in a gymnasium."""

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical


def main():
    torch.manual_seed(0)
    environment = gymnasium.make("CartPole-v1")
    body, policy, value = nn.Linear(4, 32), nn.Linear(32, 2), nn.Linear(32, 1)
    optimizer = torch.optim.Adam(nn.ModuleList([body, policy, value]).parameters(), lr=1e-2)
    lengths = []
    for episode in range(4):
        state, _ = environment.reset(seed=episode)
        saved, rewards, ended = [], [], False
        while not ended and len(rewards) < 60:
            hidden = torch.relu(body(torch.from_numpy(state)))
            chosen = Categorical(logits=policy(hidden))
            action = chosen.sample()
            saved.append((chosen.log_prob(action), value(hidden)))
            state, reward, ended, _, _ = environment.step(action.item())
            rewards.append(reward)
        returns = torch.tensor(
            [sum(0.99**i * r for i, r in enumerate(rewards[t:])) for t in range(len(rewards))]
        )
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = sum(
            -p * (r - v.item()) + nn.functional.smooth_l1_loss(v, r.view(1))
            for (p, v), r in zip(saved, returns)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
    return {"lengths": lengths}
