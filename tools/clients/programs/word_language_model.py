"""The examples of PyTorch: a recurrent language model with truncated backpropagation, clipped and annealed."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    embed, rnn, decode = nn.Embedding(30, 16), nn.LSTM(16, 16, 2), nn.Linear(16, 30)
    decode.weight = nn.Parameter(embed.weight.detach().clone())
    model = nn.ModuleList([embed, rnn, decode])
    text = torch.randint(0, 30, (61, 4))
    hidden, losses = (torch.zeros(2, 4, 16), torch.zeros(2, 4, 16)), []
    for start in range(0, 60, 20):
        hidden = tuple(h.detach() for h in hidden)
        out, hidden = rnn(embed(text[start : start + 20]), hidden)
        loss = nn.functional.cross_entropy(decode(out).view(-1, 30), text[start + 1 : start + 21].reshape(-1))
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-5.0)
        losses.append(loss.item())
    return {"losses": losses}
