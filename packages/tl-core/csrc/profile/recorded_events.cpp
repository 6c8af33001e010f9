// Recorded events of all threads merged by time, each with the event that contains it, by a stack a thread.
#include "profile/recorded_events.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/text.h"
#include "dispatch/operator_recorder.h"

namespace tl {

Recording::Recording(EventLogs logs, int64_t start, int64_t end)
    : logs_(std::move(logs)), start_(start), end_(end) {
  for (const auto& log : logs_) {
    std::vector<int64_t> open;
    log->each([&](const Event& e) {
      const int64_t ended = e.end.load(std::memory_order_relaxed);
      const int64_t until = ended == Event::kOpen ? std::max(end_, e.start) : ended;
      while (!open.empty() && events_[static_cast<size_t>(open.back())].end < until) open.pop_back();
      events_.push_back({&e, log.get(), until, open.empty() ? -1 : open.back()});
      if (e.kind != EventKind::Memory && e.kind != EventKind::Mark)
        open.push_back(static_cast<int64_t>(events_.size()) - 1);
    });
  }
}

uint64_t Recording::forgotten() const {
  uint64_t n = 0;
  for (const auto& log : logs_) n += log->forgotten();
  return n;
}

namespace {
std::string (*g_call_name)(const Event&) = nullptr;
}  // namespace

void set_call_name(std::string (*name)(const Event& event)) { g_call_name = name; }

std::string event_name(const Event& e) {
  switch (e.kind) {
    case EventKind::Operator:
    case EventKind::Results:
      return recorded_name(*static_cast<const Operator*>(e.what));
    case EventKind::Call:
    case EventKind::NativeCall:
      return g_call_name(e);
    case EventKind::Module:
      return cat("nn.Module: ", e.text());
    case EventKind::Evaluation:
      return cat("autograd::engine::evaluate_function: ", e.text());
    case EventKind::Memory:
      return "[memory]";
    default:
      return std::string(e.text());
  }
}

const char* dtype_in_traces(int dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::Bool:
      return "bool";
    case DType::UInt8:
      return "unsigned char";
    case DType::Int8:
      return "signed char";
    case DType::Int16:
      return "short int";
    case DType::Int32:
      return "int";
    case DType::Int64:
      return "long int";
    case DType::Float16:
      return "c10::Half";
    case DType::BFloat16:
      return "c10::BFloat16";
    case DType::Float32:
      return "float";
    case DType::Float64:
      return "double";
    case DType::Complex32:
      return "c10::complex<c10::Half>";
    case DType::Complex64:
      return "c10::complex<float>";
    case DType::Complex128:
      return "c10::complex<double>";
    default:
      return detail::kDTypeName[dtype];
  }
}

}  // namespace tl
