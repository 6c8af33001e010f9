// The stack of transform levels of a thread: the top one handles a call and lowers the top for what it calls.
#include "levels/level.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "origin.h"
#include "thread.h"

namespace tl::autograd {

namespace {
constexpr uint64_t kTransformsBit = uint64_t{1} << TL_LAYER_TRANSFORMS;
std::atomic<uint64_t> g_serial{0};

void switch_layer(const Levels& all) { api->thread_include(kTransformsBit, all.top != nullptr); }

// The latest levels of batches of this thread that have ended, for errors about tensors that were kept.
struct Ended {
  uint64_t serial = 0;
  const void* frames[Level::kFrames] = {};
};
constexpr size_t kEnded = 8;

void set_excluded(uint64_t bits) {
  if (api->thread_excluded() == bits) return;
  api->thread_exclude(~uint64_t{0}, 0);
  api->thread_exclude(bits, 1);
}
}  // namespace

Levels& levels() {
  ThreadData& t = thread_data();
  if (!t.levels) t.levels = new Levels;
  return *static_cast<Levels*>(t.levels);
}

bool in_transform() {
  const auto* all = static_cast<const Levels*>(thread_data().levels);
  return all && !all->begun.empty();
}

const Level* top_beside_jvp() {
  const Level* top = in_transform() ? levels().top : nullptr;
  return top && top->kind != LevelKind::Jvp ? top : nullptr;
}

void set_top(Level* level) {
  Levels& all = levels();
  all.top = level;
  switch_layer(all);
}

Level* begin_level(LevelKind kind) {
  Levels& all = levels();
  auto level = std::make_unique<Level>();
  level->parent = all.top;
  level->serial = g_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  level->number = all.top ? all.top->number + 1 : 1;
  level->kind = kind;
  level->grad_mode = api->grad_enabled();
  note_frames(level->frames, Level::kFrames);
  all.begun.push_back(level.get());
  all.top = level.release();
  switch_layer(all);
  return all.top;
}

namespace {
Ended* ended_levels() {
  Levels& all = levels();
  if (!all.ended) all.ended = new Ended[kEnded];
  return static_cast<Ended*>(all.ended);
}

void remember(const Level& level) {
  Ended& position = ended_levels()[level.serial % kEnded];
  position.serial = level.serial;
  std::copy_n(level.frames, Level::kFrames, position.frames);
}
}  // namespace

const void* const* ended_frames(uint64_t serial) {
  const Ended& position = ended_levels()[serial % kEnded];
  return position.serial == serial ? position.frames : nullptr;
}

namespace {
// The tensors are freed last: their graphs may hold others of the level.
void end_tangents(const Level& level, std::vector<Tensor>& ended) {
  for (const auto& cell : level.tangents)
    if (const auto tangent = cell.lock()) ended.push_back(std::exchange(*tangent, Tensor()));
}
}  // namespace

void end_level(Level* level) {
  std::vector<Tensor> ended;
  Levels& all = levels();
  all.top = level->parent;
  while (!all.begun.empty()) {
    const std::unique_ptr<Level> last(all.begun.back());
    all.begun.pop_back();
    if (last->kind == LevelKind::Batch) remember(*last);
    end_tangents(*last, ended);
    if (last.get() == level) break;
  }
  switch_layer(all);
}

Level* level_of(uint64_t serial) {
  const auto& begun = levels().begun;
  for (auto it = begun.rbegin(); it != begun.rend(); ++it)
    if ((*it)->serial == serial) return *it;
  return nullptr;
}

Level* required_level(uint64_t serial) {
  Level* level = level_of(serial);
  if (!level) fail(TL_ERROR_RUNTIME, "this transform has ended, or began on another thread");
  return level;
}

Level* level_numbered(int number) {
  for (Level* level = levels().top; level; level = level->parent)
    if (level->number == number) return level;
  return nullptr;
}

bool records_below(const Level& level) {
  const int program = thread_data().program_mode;
  return level.grad_mode && (program < 0 ? api->grad_enabled() != 0 : program != 0);
}

Below::Below(Level& level) : top_(levels().top), excluded_(api->thread_excluded()) {
  Levels& all = levels();
  all.top = level.parent;
  switch_layer(all);
  if (level.kind == LevelKind::Grad) api->set_grad_enabled(records_below(level));
}

Below::~Below() {
  Levels& all = levels();
  all.top = top_;
  switch_layer(all);
  set_excluded(excluded_);
}

}  // namespace tl::autograd
