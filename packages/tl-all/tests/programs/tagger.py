"""Trains an LSTM to tell the part of speech of words that have several.

python tagger.py --epochs 4
"""

import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

TAGS = ["DET", "ADJ", "NOUN", "VERB", "TO"]
WORDS = {
    "DET": ["the", "a", "every"],
    "ADJ": ["old", "light", "open"],
    "NOUN": ["dog", "light", "run", "walk", "book"],
    "VERB": ["open", "run", "walk", "book", "light"],
    "TO": ["to"],
}
PATTERNS = [
    ["DET", "NOUN", "VERB"],
    ["DET", "ADJ", "NOUN", "VERB", "DET", "NOUN"],
    ["TO", "VERB", "DET", "NOUN", "VERB"],
    ["DET", "NOUN", "VERB", "TO", "VERB", "DET", "ADJ", "NOUN"],
    ["VERB", "DET", "ADJ", "ADJ", "NOUN"],
]


def make_sentences(n, seed):
    rng = random.Random(seed)
    sentences = []
    for _ in range(n):
        tags = rng.choice(PATTERNS)
        sentences.append(([rng.choice(WORDS[tag]) for tag in tags], tags))
    return sentences


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size, padding_idx):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim, padding_idx=padding_idx)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, num_layers=1, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.hidden2tag = nn.Linear(2 * hidden_dim, tagset_size)

    def forward(self, sentences, lengths):
        embeds = self.word_embeddings(sentences)
        packed = pack_padded_sequence(embeds, lengths, batch_first=True, enforce_sorted=False)
        lstm_out, _ = self.lstm(packed)
        lstm_out, _ = pad_packed_sequence(lstm_out, batch_first=True)
        return self.hidden2tag(self.dropout(lstm_out))


def collate(sentences, word_to_ix, tag_to_ix, pad):
    words = [torch.tensor([word_to_ix[w] for w in ws]) for ws, _ in sentences]
    tags = [torch.tensor([tag_to_ix[t] for t in ts]) for _, ts in sentences]
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, True, pad), lengths, pad_sequence(tags, True, -100)


@torch.no_grad()
def accuracy(model, batch):
    model.eval()
    words, lengths, tags = batch
    guessed = model(words, lengths).argmax(-1)
    mask = tags != -100
    return (guessed[mask] == tags[mask]).float().mean().item()


def best_without_context(sentences):
    """The accuracy of giving each word its most frequent tag."""
    counts = {}
    for words, tags in sentences:
        for word, tag in zip(words, tags):
            counts.setdefault(word, {}).setdefault(tag, 0)
            counts[word][tag] += 1
    right = sum(max(tags.values()) for tags in counts.values())
    return right / sum(sum(tags.values()) for tags in counts.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)

    training, held_out = make_sentences(400, 0), make_sentences(150, 1)
    vocabulary = sorted({w for words in WORDS.values() for w in words})
    word_to_ix = {w: i + 1 for i, w in enumerate(vocabulary)}
    tag_to_ix = {t: i for i, t in enumerate(TAGS)}
    test_batch = collate(held_out, word_to_ix, tag_to_ix, 0)

    model = LSTMTagger(16, 24, len(vocabulary) + 1, len(TAGS), padding_idx=0)
    loss_function = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
    for epoch in range(args.epochs):
        model.train()
        random.shuffle(training)
        total = 0.0
        for start in range(0, len(training), args.batch_size):
            words, lengths, tags = collate(
                training[start : start + args.batch_size], word_to_ix, tag_to_ix, 0
            )
            model.zero_grad()
            scores = model(words, lengths)
            loss = loss_function(scores.view(-1, len(TAGS)), tags.view(-1))
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print(f"epoch {epoch}: loss {total:.4f}, accuracy {accuracy(model, test_batch):.4f}")
    print(f"accuracy {accuracy(model, test_batch):.4f} without context {best_without_context(held_out):.4f}")
    print(f"padding {model.word_embeddings.weight[0].abs().sum().item():.1f}")


if __name__ == "__main__":
    main()
