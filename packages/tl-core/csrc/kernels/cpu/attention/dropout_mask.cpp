// The mask of attention's dropout, drawn a tile of rows at a time: of the whole only the states of the
// generator at the tiles' beginnings are kept.
#include <algorithm>
#include <cmath>

#include "base/generator.h"
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/random/block_sampling.h"

namespace tl::cpu {

namespace {

constexpr int64_t kWordsEach = 2;  // a mask's element takes 53 bits
constexpr int64_t kChunk = 1024;

void save(const Mt19937& engine, int32_t* state) {
  std::copy_n(engine.words(), Mt19937::kWords, state);
  state[Mt19937::kWords] = engine.left();
  state[Mt19937::kWords + 1] = engine.next();
}

void draw(Mt19937& engine, int64_t n, uint64_t bound, uint8_t* dropout_mask) {
  uint32_t words[kWordsEach * kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    engine.fill(words, kWordsEach * count);
    TL_SELECT(words_below)(words, count, bound, dropout_mask + i);
  }
}

}  // namespace

void save_dropout_states(Generator& g, int64_t heads, int64_t queries, int64_t keys, int32_t* rng_states) {
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t row = 0; row < queries; row += kDropoutTileRows, rng_states += kRngStateWords) {
      save(g.engine(), rng_states);
      g.engine().skip(std::min(kDropoutTileRows, queries - row) * keys * kWordsEach);
    }
  }
}

void fill_dropout_mask(const int32_t* draw_, int64_t rows, int64_t keys, int64_t visible, double dropout,
                       uint8_t* dropout_mask) {
  Mt19937 engine(0);
  engine.restore(draw_, draw_[Mt19937::kWords], draw_[Mt19937::kWords + 1]);
  const auto bound = static_cast<uint64_t>(std::ceil((1 - dropout) * 0x1p53));
  for (int64_t i = 0; i < rows; ++i) {
    draw(engine, visible, bound, dropout_mask + i * keys);
    engine.skip((keys - visible) * kWordsEach);
  }
}

}  // namespace tl::cpu
