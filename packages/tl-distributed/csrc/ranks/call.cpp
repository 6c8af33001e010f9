// Fingerprints of calls: kind, sizes, dtype and reduction, and their words for errors.
#include "ranks/call.h"

#include "tl/c_api.h"

namespace tl::distributed {

namespace {
constexpr const char* kKinds[] = {"nothing",    "all_reduce", "reduce",  "broadcast",
                                  "all_gather", "gather",     "scatter", "reduce_scatter",
                                  "all_to_all", "barrier",    "send",    "recv"};
constexpr const char* kReductions[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", ""};
}  // namespace

const char* name_of(Kind kind) { return kKinds[static_cast<int>(kind)]; }
const char* name_of(Reduction reduction) { return kReductions[static_cast<int>(reduction)]; }

int64_t size_of_dtype(int64_t dtype) { return (TL_DTYPE_BITS(dtype) + 7) / 8; }

std::string name_of_dtype(int64_t dtype) {
  const std::string bits = std::to_string(TL_DTYPE_BITS(dtype));
  switch (TL_DTYPE_CODE(dtype)) {
    case TL_CODE_INT:
      return "int" + bits;
    case TL_CODE_UINT:
      return "uint" + bits;
    case TL_CODE_FLOAT:
      return "float" + bits;
    case TL_CODE_BFLOAT:
      return "bfloat" + bits;
    case TL_CODE_COMPLEX:
      return "complex" + bits;
    case TL_CODE_BOOL:
      return "bool";
    default:
      return "dtype " + std::to_string(TL_DTYPE_CODE(dtype)) + " of " + bits + " bits";
  }
}

int64_t Call::bytes() const { return count * size_of_dtype(dtype); }

std::string text_of(const Call& call) {
  std::string text = name_of(call.kind);
  if (call.sequence) text += " #" + std::to_string(call.sequence);
  if (call.kind == Kind::kNone || call.kind == Kind::kBarrier) return text;
  text += " (";
  if (call.reduction != Reduction::kNone) text += std::string(name_of(call.reduction)) + " of ";
  text += std::to_string(call.count) + " " + name_of_dtype(call.dtype);
  if (call.root >= 0) text += ", root " + std::to_string(call.root);
  return text + ")";
}

}  // namespace tl::distributed
