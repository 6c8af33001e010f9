"""sentence-transformers: a model of modules; encodes sentences and finds the nearest."""

import torch
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

TEXT = ["a tensor has a shape", "a shape has dimensions", "kernels add tensors", "gradients flow backwards"]


def main():
    torch.manual_seed(0)
    raw = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.train_from_iterator(TEXT, trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]"]))
    PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(
        "model"
    )
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=30, **sizes)).save_pretrained("model")
    words = Transformer("model", max_seq_length=16)
    model = SentenceTransformer(modules=[words, Pooling(32)], device="cpu")
    vectors = model.encode(TEXT, convert_to_tensor=True, normalize_embeddings=True)
    hits = util.semantic_search(vectors[:1], vectors, top_k=3)[0]
    return {
        "vectors": vectors,
        "scores": [hit["score"] for hit in hits],
        "found": [hit["corpus_id"] for hit in hits],
    }
