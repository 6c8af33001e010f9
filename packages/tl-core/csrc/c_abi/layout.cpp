// The layouts that extensions were compiled for, pinned: an entry that is inserted or moved does not compile.
// Each minor version adds the end of its tables; a line never changes after the interface is frozen.
#include <cstddef>

#include "tl/extension.h"
#include "tl/program.h"
#include "tl/recording.h"
#include "tl/rules.h"

namespace {
constexpr size_t kWord = 8;
static_assert(sizeof(void*) == kWord && sizeof(size_t) == kWord,
              "the interface is for processors with 64 bits");

static_assert(sizeof(TlValue) == 2 * kWord && offsetof(TlValue, u) == kWord);
static_assert(sizeof(TlArgInfo) == 2 * kWord && offsetof(TlArgInfo, kind) == kWord);
static_assert(sizeof(TlLayerEntry) == 2 * kWord);
static_assert(sizeof(TlAllocation) == 2 * kWord);
static_assert(offsetof(TlOperatorInfo, n_args) == 2 * kWord && offsetof(TlOperatorInfo, args) == 3 * kWord);
static_assert(sizeof(TlView) == 7 * kWord);

// 1.0
static_assert(offsetof(TlApi, error_set) == 2 * kWord);
static_assert(offsetof(TlApi, op_call) == 57 * kWord);
static_assert(offsetof(TlApi, common_dtype) == 74 * kWord);
static_assert(offsetof(TlApi, op_call_past) == 82 * kWord);
static_assert(offsetof(TlSlotType, clear) == 3 * kWord);
static_assert(offsetof(TlDeferral, open) == 3 * kWord);
static_assert(offsetof(TlOperatorDef, functional) == 8 * kWord);
static_assert(offsetof(TlDeviceDef, cpu_fallback) == 9 * kWord);
static_assert(offsetof(TlExtension, slot_key) == 43 * kWord);
static_assert(offsetof(TlExtension, capsule_data) == 49 * kWord);
static_assert(offsetof(TlCapsuleType, destroy) == 2 * kWord);
static_assert(offsetof(TlRecording, set_sequence_source) == 4 * kWord);
static_assert(offsetof(TlRules, rules) == 4 * kWord);
static_assert(sizeof(TlRule) == 8 * kWord);
}  // namespace
