"""x-transformers: a decoder with rotary positions and gated feed-forwards learns and generates."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper


def main():
    torch.manual_seed(0)
    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers))
    tokens = torch.randint(0, 50, (2, 17))
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-2), []
    for _ in range(4):
        loss = model(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    generated = model.generate(tokens[:, :4], 6, temperature=0.0)
    return {"losses": losses, "tokens": generated}
