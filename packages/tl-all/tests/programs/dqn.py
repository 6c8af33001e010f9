"""Deep Q-learning on a cart-pole of its own.

python dqn.py --steps 3000
"""

import argparse
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward", "done"))


class CartPole:
    """A pole on a cart, pushed to the left or right (Barto, Sutton and Anderson, 1983)."""

    gravity, cart, pole, half, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    limit = 200

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.state = [self.rng.uniform(-0.05, 0.05) for _ in range(4)]
        self.time = 0
        return list(self.state)

    def step(self, action):
        x, v, theta, omega = self.state
        force = self.force if action == 1 else -self.force
        cos, sin = math.cos(theta), math.sin(theta)
        total = self.cart + self.pole
        temp = (force + self.pole * self.half * omega**2 * sin) / total
        alpha = (self.gravity * sin - cos * temp) / (self.half * (4.0 / 3.0 - self.pole * cos**2 / total))
        a = temp - self.pole * self.half * alpha * cos / total
        self.state = [x + self.tau * v, v + self.tau * a, theta + self.tau * omega, omega + self.tau * alpha]
        self.time += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return list(self.state), 1.0, fallen, self.time >= self.limit


class ReplayMemory:
    def __init__(self, capacity, rng):
        self.memory = deque(maxlen=capacity)
        self.rng = rng

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return self.rng.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class QNetwork(nn.Module):
    def __init__(self, n_observations=4, n_actions=2):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 64)
        self.layer2 = nn.Linear(64, 64)
        self.layer3 = nn.Linear(64, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


def optimize(policy_net, target_net, memory, optimizer, args):
    batch = Transition(*zip(*memory.sample(args.batch_size)))
    state = torch.tensor(batch.state)
    action = torch.tensor(batch.action).unsqueeze(1)
    next_state = torch.tensor(batch.next_state)
    reward = torch.tensor(batch.reward)
    ends = torch.tensor(batch.done, dtype=torch.float32)
    with torch.no_grad():
        target_max, _ = target_net(next_state).max(dim=1)
        td_target = reward + args.gamma * target_max * (1 - ends)
    old_val = policy_net(state).gather(1, action).squeeze(1)
    loss = F.smooth_l1_loss(old_val, td_target)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


@torch.no_grad()
def returns(env, choose, episodes):
    totals = []
    for _ in range(episodes):
        state, over, total = env.reset(), False, 0.0
        while not over:
            state, reward, fallen, late = env.step(choose(state))
            total += reward
            over = fallen or late
        totals.append(total)
    return sum(totals) / len(totals)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--tau", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)

    env = CartPole(rng)
    policy_net, target_net = QNetwork(), QNetwork()
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=args.lr, amsgrad=True)
    memory = ReplayMemory(10000, rng)

    by_chance = returns(CartPole(random.Random(7)), lambda state: rng.randrange(2), 20)
    state = env.reset()
    for step in range(args.steps):
        epsilon = max(0.05, 1.0 - step / (0.4 * args.steps))
        if rng.random() < epsilon:
            action = rng.randrange(2)
        else:
            with torch.no_grad():
                action = policy_net(torch.tensor(state)).argmax().item()
        next_state, reward, fallen, late = env.step(action)
        memory.push(state, action, next_state, reward, fallen)
        state = env.reset() if fallen or late else next_state
        if len(memory) >= args.batch_size:
            optimize(policy_net, target_net, memory, optimizer, args)
            for target, source in zip(target_net.parameters(), policy_net.parameters()):
                target.data.lerp_(source.data, args.tau)

    greedy = returns(CartPole(random.Random(7)), lambda s: policy_net(torch.tensor(s)).argmax().item(), 10)
    print(f"return by chance {by_chance:.1f} learned {greedy:.1f}")


if __name__ == "__main__":
    main()
