// Steps in shared memory: a barrier each; the ranks' fingerprints are compared at the first one.
#include "group/local_steps.h"

namespace tl::distributed {

void LocalSteps::step() {
  segment_.arrive();
  segment_.await_all(call_, deadline_);
  if (!compared_) compare();
  compared_ = true;
  if (between_) between_();
}

void LocalSteps::compare() const {
  const Call& first = segment_.posted(0);
  for (int i = 1; i < size(); ++i) {
    if (segment_.posted(i).agrees(first)) continue;
    segment_.disagree(0, first, i, segment_.posted(i));
  }
}

void LocalSteps::reduce_scatter(Piece output, const Pieces& inputs, const Combiner& combiner, int64_t most) {
  const int n = size();
  const int64_t part = part_of_slot(n), element = size_of_dtype(call_.dtype);
  for (int64_t at = 0; at == 0 || at < most; at += part) {
    for (int i = 0; i < n; ++i)
      if (n > 2 || i != rank()) copy(own() + i * part, inputs[static_cast<size_t>(i)].part(at, part));
    step();
    const Piece out = output.part(at, part), mine = inputs[static_cast<size_t>(rank())].part(at, part);
    char* there = of(0) + rank() * part;
    if (n == 1)
      copy(out.data, mine);
    else if (n > 2)
      combiner.runs(out.data, there, Segment::slot_pitch(), n, out.bytes / element);
    else if (rank() == 0)
      combiner.pair(out.data, mine.data, there + Segment::slot_pitch(), out.bytes / element);
    else
      combiner.pair(out.data, there, mine.data, out.bytes / element);
  }
}

// The root writes a part of all pieces to its slot, and the others read it from there.
void LocalSteps::broadcast(const Pieces& data, int root) {
  size_t piece = 0;
  int64_t inside = 0, left = total(data);
  do {
    const size_t first = piece;
    const int64_t first_inside = inside;
    const bool is_root = rank() == root;
    char* slot = is_root ? own() : nullptr;
    if (!is_root) {
      step();
      slot = of(root);
    }
    int64_t room = std::min(left, kPart);
    left -= room;
    piece = first, inside = first_inside;
    while (room > 0) {
      const Piece part = data[piece].part(inside, room);
      if (is_root)
        copy(slot, part);
      else
        copy(part.data, {slot, part.bytes});
      slot += part.bytes, room -= part.bytes, inside += part.bytes;
      if (inside == data[piece].bytes) ++piece, inside = 0;
    }
    if (is_root) step();
  } while (left > 0);
}

void LocalSteps::all_gather(const Pieces& outputs, Piece input, int64_t most) {
  if (!outputs.empty()) copy(outputs[static_cast<size_t>(rank())].data, input);
  for (int64_t at = 0; at == 0 || at < most; at += kPart) {
    copy(own(), input.part(at, kPart));
    step();
    for (int k = 1; k < size() && !outputs.empty(); ++k) {
      const int i = (rank() + k) % size();
      const Piece out = outputs[static_cast<size_t>(i)].part(at, kPart);
      copy(out.data, {of(i), out.bytes});
    }
  }
}

void LocalSteps::scatter(Piece output, const Pieces& inputs, int root, int64_t most) {
  const int64_t part = part_of_slot(size());
  for (int64_t at = 0; at == 0 || at < most; at += part) {
    for (size_t i = 0; i < inputs.size(); ++i)
      copy(own() + static_cast<int64_t>(i) * part, inputs[i].part(at, part));
    step();
    const Piece out = output.part(at, part);
    copy(out.data, {of(root) + rank() * part, out.bytes});
  }
}

void LocalSteps::all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t most) {
  const size_t self = static_cast<size_t>(rank());
  copy(outputs[self].data, inputs[self]);
  const int n = size();
  const int64_t part = part_of_slot(n);
  for (int64_t at = 0; at < most; at += part) {
    for (int i = 0; i < n; ++i)
      if (i != rank()) copy(own() + i * part, inputs[static_cast<size_t>(i)].part(at, part));
    step();
    for (int k = 1; k < n; ++k) {
      const int i = (rank() + k) % n;
      const Piece out = outputs[static_cast<size_t>(i)].part(at, part);
      copy(out.data, {of(i) + rank() * part, out.bytes});
    }
  }
}

}  // namespace tl::distributed
