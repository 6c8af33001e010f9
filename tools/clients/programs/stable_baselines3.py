"""stable-baselines3 with gymnasium: PPO and DQN learn to balance a pole; saved and loaded."""

import gymnasium
import numpy as np
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy


def main():
    environment = gymnasium.make("CartPole-v1")
    ppo = PPO("MlpPolicy", environment, n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
    ppo.learn(128)
    ppo.save("ppo")
    again = PPO.load("ppo", device="cpu")
    seen = np.linspace(-0.1, 0.1, 8).reshape(2, 4).astype(np.float32)
    dqn = DQN("MlpPolicy", environment, learning_starts=20, buffer_size=200, seed=0, device="cpu").learn(60)
    reward, _ = evaluate_policy(again, environment, n_eval_episodes=2)
    same = bool(
        (ppo.predict(seen, deterministic=True)[0] == again.predict(seen, deterministic=True)[0]).all()
    )
    return {"same": same, "steps": [ppo.num_timesteps, dqn.num_timesteps], "learned": bool(reward > 0)}
