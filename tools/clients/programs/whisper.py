"""transformers, speech: Whisper listens to a spectrogram and writes tokens."""

import numpy as np
import torch
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration


def main():
    torch.manual_seed(0)
    sizes = {
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
    }
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "num_mel_bins": 80}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}
    config = WhisperConfig(
        vocab_size=60, **sizes, **heads, **tokens, suppress_tokens=None, begin_suppress_tokens=None
    )
    model = WhisperForConditionalGeneration(config).eval()
    sound = np.sin(np.arange(16000) * 0.05).astype(np.float32)
    features = WhisperFeatureExtractor()(sound, sampling_rate=16000, return_tensors="pt").input_features
    logits = model(features, decoder_input_ids=torch.tensor([[3, 5, 6]])).logits
    return {"features": features, "logits": logits}
