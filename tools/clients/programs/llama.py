"""transformers, a decoder with rotary embeddings and grouped queries: Llama, with a cache and in bfloat16."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=128, num_key_value_heads=2, **sizes)).eval()
    prompt = torch.randint(3, 128, (2, 10))
    out = model(prompt, use_cache=True)
    following = model(torch.tensor([[4], [5]]), past_key_values=out.past_key_values, use_cache=True)
    tokens = model.generate(prompt, max_new_tokens=10, do_sample=False, pad_token_id=0)
    half = model.to(torch.bfloat16)(prompt).logits.float().mean().item()
    return {"logits": out.logits, "next": following.logits, "tokens": tokens, "half": round(half, 2)}
