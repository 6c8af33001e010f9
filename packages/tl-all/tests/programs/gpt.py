"""Trains a character-level GPT on sentences it makes up, saves it, and lets it write.

python gpt.py --steps 150 --out model.pt
RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500 python gpt.py
"""

import argparse
import contextlib
import math
import os
import random
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclass
class GPTConfig:
    vocab_size: int
    block_size: int = 32
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 48
    dropout: float = 0.0


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.dropout = config.dropout

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd),
            nn.Dropout(config.dropout),
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        self.apply(self._init_weights)
        for name, p in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(idx.size(1), device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    def configure_optimizer(self, weight_decay, lr):
        params = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.config.block_size :])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


def make_text(sentences, seed=0):
    rng = random.Random(seed)
    who = ["the cat", "a dog", "my friend", "the old man"]
    does = ["likes", "sees", "eats", "follows"]
    what = ["a fish", "the bird", "some bread", "the moon"]
    return "".join(f"{rng.choice(who)} {rng.choice(does)} {rng.choice(what)}.\n" for _ in range(sentences))


def get_batch(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


def get_lr(it, args):
    if it < args.warmup:
        return args.lr * (it + 1) / args.warmup
    ratio = (it - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.1 + 0.45 * (1.0 + math.cos(math.pi * ratio)))


@torch.no_grad()
def estimate_loss(model, data, block_size, batch_size, iters=10):
    model.eval()
    losses = torch.zeros(iters)
    for k in range(iters):
        _, loss = model(*get_batch(data, block_size, batch_size))
        losses[k] = loss.item()
    model.train()
    return losses.mean().item()


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--grad-accum", type=int, default=2)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--grad-clip", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--out", default=None)
    parser.add_argument("--resume", default=None)
    return parser.parse_args()


def train_step(model, optimizer, scaler, batches, args, ddp):
    for micro_step in range(args.grad_accum):
        last = micro_step == args.grad_accum - 1
        with model.no_sync() if ddp and not last else contextlib.nullcontext():
            _, loss = model(*batches())
            scaler.scale(loss / args.grad_accum).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    return loss


def main():
    args = parse_arguments()
    ddp = int(os.environ.get("RANK", -1)) != -1
    if ddp:
        init_process_group(backend="gloo")
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    text = make_text(2000)
    chars = sorted(set(text))
    stoi = {ch: i for i, ch in enumerate(chars)}
    data = torch.tensor([stoi[ch] for ch in text], dtype=torch.long, device=device)
    n = int(0.9 * len(data))
    train_data, val_data = data[:n], data[n:]

    config = GPTConfig(vocab_size=len(chars))
    checkpoint = torch.load(args.resume, map_location=device) if args.resume else None
    if checkpoint is not None:
        config = GPTConfig(**checkpoint["config"])
    raw_model = GPT(config).to(device)
    optimizer = raw_model.configure_optimizer(0.1, args.lr)
    first = 0
    if checkpoint is not None:
        raw_model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        first = checkpoint["step"]
    model = DDP(raw_model) if ddp else raw_model
    scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
    print(f"parameters {sum(p.numel() for p in raw_model.parameters())}")

    block_size = config.block_size
    print(f"first val loss {estimate_loss(raw_model, val_data, block_size, args.batch_size):.4f}")
    for it in range(first, args.steps):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it, args)
        loss = train_step(
            model, optimizer, scaler, lambda: get_batch(train_data, block_size, args.batch_size), args, ddp
        )
        if it % 50 == 0:
            print(f"iter {it}: loss {loss.item():.4f}")
    print(f"last val loss {estimate_loss(raw_model, val_data, block_size, args.batch_size):.4f}")

    if args.out:
        state = {
            "model": raw_model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "config": asdict(config),
            "step": args.steps,
        }
        torch.save(state, args.out)
    raw_model.eval()
    start = torch.tensor([[stoi["\n"]]], device=device)
    tokens = raw_model.generate(start, 120, temperature=0.8, top_k=10)[0].tolist()
    vocabulary = set(text.split())
    words = "".join(chars[i] for i in tokens).split()[:-1]
    print(f"sample {' '.join(words)}")
    print(f"words spelled right {sum(w in vocabulary for w in words)} of {len(words)}")
    if ddp:
        destroy_process_group()


if __name__ == "__main__":
    main()
