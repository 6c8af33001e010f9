"""performer-pytorch: a language model with linear attention by random features learns."""

import torch
from performer_pytorch import PerformerLM


def main():
    torch.manual_seed(0)
    model = PerformerLM(
        num_tokens=50,
        max_seq_len=32,
        dim=32,
        depth=2,
        heads=4,
        dim_head=8,
        nb_features=16,
        generalized_attention=True,
    )
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    tokens = torch.randint(0, 50, (2, 32))
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens.roll(-1, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return {"losses": losses, "logits": model(tokens)}
