// Registered devices: tables of allocation and copy functions, and device names both ways.
#include "tensor/device_registry.h"

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "base/fork.h"

namespace tl {

namespace {
constexpr int kFirst = static_cast<int>(DeviceType::Extension0);

// Types that have a name and no row in the dispatch tables: nothing lives there.
constexpr DeviceType without_row(int i) { return static_cast<DeviceType>(kNumDeviceTypes + i); }

// The type that a program names itself, and its name before that.
constexpr DeviceType kPrivate = without_row(16);
constexpr const char* kPrivateName = "privateuseone";
std::atomic<const std::string*> g_private_name{nullptr};

struct NamedType {
  const char* name;
  DeviceType type;
};
// Every name that programs written for the reference may give a device, in its order.
constexpr NamedType kNamed[] = {
    {"cpu", DeviceType::CPU},   {"cuda", DeviceType::CUDA}, {"ipu", without_row(0)},
    {"xpu", without_row(1)},    {"mkldnn", without_row(2)}, {"opengl", without_row(3)},
    {"opencl", without_row(4)}, {"ideep", without_row(5)},  {"hip", without_row(6)},
    {"ve", without_row(7)},     {"fpga", without_row(8)},   {"maia", without_row(9)},
    {"xla", without_row(10)},   {"lazy", without_row(11)},  {"vulkan", without_row(12)},
    {"mps", without_row(13)},   {"meta", DeviceType::Meta}, {"hpu", without_row(14)},
    {"mtia", without_row(15)},  {kPrivateName, kPrivate},
};
constexpr int kNumWithoutRow = static_cast<int>(std::size(kNamed)) - kFirst;
static_assert(kNumDeviceTypes + kNumWithoutRow <= 32, "a call keeps a bit for each type");
constexpr int kCodeWithoutRow = 0x40;  // in the C interface, below TL_DEVICE_META

std::unique_ptr<DeviceEntry> g_entries[kNumDeviceTypes];
std::atomic<int> g_count{0};

// Where an allocation came from, found by its address: a storage remembers no more than that.
struct Origin {
  void* ctx;
  int index;
};
struct Allocations {
  std::mutex mutex;
  std::unordered_map<void*, Origin> map;
};
Allocations& allocations() {
  static Allocations* const allocations = [] {
    static auto* made = new Allocations;
    register_fork_lock(ForkOrder::Allocator, [] { made->mutex.lock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *allocations;
}

// Guards registration only.
std::mutex& registration() {
  static std::mutex* const mutex = [] {
    static auto* made = new std::mutex;
    register_fork_lock(ForkOrder::Registry, [] { made->lock(); }, [] { made->unlock(); });
    return made;
  }();
  return *mutex;
}

void check(int status) {
  if (status != 0) throw_pending();
}
}  // namespace

void* DeviceEntry::allocate(int index, size_t bytes) const {
  TL_CHECK(index >= 0 && index < def.device_count, Runtime, "there is no device '", name, ":", index,
           "': the number of ", name, " devices is ", def.device_count);
  TlAllocation out{};
  check(def.allocate(def.user, index, bytes, &out));
  TL_CHECK(out.data, OutOfMemory, "the device '", name, ":", index, "' gave no memory for ", bytes, " bytes");
  std::lock_guard lock(allocations().mutex);
  allocations().map[out.data] = {out.ctx, index};
  return out.data;
}

void DeviceEntry::free(void* data, size_t bytes) const {
  Origin origin;
  {
    std::lock_guard lock(allocations().mutex);
    auto it = allocations().map.find(data);
    origin = it->second;
    allocations().map.erase(it);
  }
  def.free(def.user, origin.index, TlAllocation{data, origin.ctx}, bytes);
}

void DeviceEntry::copy_to_host(int index, void* host, const void* device, size_t bytes) const {
  check(def.copy_to_host(def.user, index, host, device, bytes));
}
void DeviceEntry::copy_from_host(int index, void* device, const void* host, size_t bytes) const {
  check(def.copy_from_host(def.user, index, device, host, bytes));
}
void DeviceEntry::copy_within(int index, void* to, const void* from, size_t bytes) const {
  check(def.copy_within(def.user, index, to, from, bytes));
}

bool device_registered(DeviceType type) {
  const int i = static_cast<int>(type);
  return i < kFirst ? type != DeviceType::CUDA : i < kFirst + g_count.load(std::memory_order_acquire);
}

namespace {
DeviceRefusal g_refuse_cuda = nullptr;

[[noreturn, gnu::cold]] void refuse_device(DeviceType type) {
  // The first words of PyTorch's error.
  constexpr const char* kWithoutCuda =
      "Torch not compiled with CUDA enabled: no installed plug-in provides the device 'cuda'. A program for "
      "every machine selects the device: device = \"cuda\" if torch.cuda.is_available() else \"cpu\"";
  if (type != DeviceType::CUDA)
    fail(ErrorKind::Runtime, "no installed plug-in provides the device '", device_name(type), "'");
  if (g_refuse_cuda) g_refuse_cuda(kWithoutCuda);
  fail(ErrorKind::Runtime, kWithoutCuda);
}
}  // namespace

void set_cuda_refusal(DeviceRefusal refuse) { g_refuse_cuda = refuse; }

const DeviceEntry& device_entry(DeviceType type) {
  if (!device_registered(type) || !g_entries[static_cast<int>(type)]) [[unlikely]]
    refuse_device(type);
  return *g_entries[static_cast<int>(type)];
}

namespace {
void check_complete(const TlDeviceDef& def) {
  TL_CHECK(def.struct_size >= offsetof(TlDeviceDef, cpu_fallback), Value, "TlDeviceDef.struct_size is ",
           def.struct_size, ", too small");
  TL_CHECK(def.name && *def.name, Value, "TlDeviceDef.name is empty");
  TL_CHECK(def.device_count > 0 && def.device_count < 128, Value,
           "TlDeviceDef.device_count must lie in [1, 127], got ", def.device_count);
  TL_CHECK(def.allocate && def.free && def.copy_to_host && def.copy_from_host && def.copy_within, Value,
           "the device '", def.name, "' lacks a function: allocate, free and the three copies are needed");
}
}  // namespace

DeviceType register_device(const TlDeviceDef& def) {
  check_complete(def);
  std::lock_guard lock(registration());
  const int slot = kFirst + g_count.load();
  TL_CHECK(slot < kNumDeviceTypes, Runtime, "at most ", kNumDeviceTypes - kFirst,
           " devices can be registered");
  for (int i = 0; i < slot; ++i)
    TL_CHECK(device_name(static_cast<DeviceType>(i)) != def.name, Value, "a device named '", def.name,
             "' is already registered");
  auto entry = std::make_unique<DeviceEntry>();
  std::memcpy(&entry->def, &def, std::min(def.struct_size, sizeof(TlDeviceDef)));
  entry->name = def.name;
  entry->type = static_cast<DeviceType>(slot);
  g_entries[slot] = std::move(entry);
  g_count.fetch_add(1, std::memory_order_release);
  return static_cast<DeviceType>(slot);
}

bool has_row(DeviceType type) { return static_cast<int>(type) < kNumDeviceTypes; }

std::string private_device_name() {
  const std::string* name = g_private_name.load(std::memory_order_acquire);
  return name ? *name : kPrivateName;
}

void name_private_device(const std::string& name) {
  std::lock_guard lock(registration());
  const std::string* current = g_private_name.load();
  TL_CHECK(!current || *current == name, Runtime,
           "torch.register_privateuse1_backend() has already been set! Current backend: ", *current, ", got ",
           name);
  for (const auto& named : kNamed)
    TL_CHECK(named.name != name || named.type == kPrivate, Runtime,
             "Cannot register privateuse1 backend with in-tree device name: ", name);
  if (!current && name != kPrivateName)
    g_private_name.store(new std::string(name), std::memory_order_release);
}

std::string device_name(DeviceType type) {
  if (type == kPrivate) return private_device_name();
  for (const auto& named : kNamed)
    if (named.type == type) return named.name;
  const auto& entry = g_entries[static_cast<int>(type)];
  return entry ? entry->name : cat("extension", static_cast<int>(type) - kFirst);
}

std::string device_name(Device d) {
  std::string name = device_name(d.type);
  return d.index < 0 ? name : cat(name, ":", d.index);
}

namespace {
// A plug-in's device comes before a type of that name which has nothing.
DeviceType type_named(const std::string& name, const std::string& text) {
  if (name == kPrivateName && g_private_name.load()) return type_named(private_device_name(), text);
  const int end = kFirst + g_count.load(std::memory_order_acquire);
  for (int i = kFirst; i < end; ++i)
    if (g_entries[i]->name == name) return g_entries[i]->type;
  std::string known;
  for (const auto& named : kNamed) {
    if (named.name == name) return named.type;
    known += cat(known.empty() ? "" : ", ", named.name);
  }
  if (name == private_device_name()) return kPrivate;
  for (int i = kFirst; i < end; ++i) known += ", " + g_entries[i]->name;
  fail(ErrorKind::Runtime, "Expected one of ", known, " device type at start of device string: ", text);
}
}  // namespace

Device parse_device(const std::string& text) {
  const size_t colon = text.find(':');
  Device d;
  d.type = type_named(text.substr(0, colon), text);
  if (colon == std::string::npos) return d;
  const std::string digits = text.substr(colon + 1);
  int value = -1;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole =
      code == std::errc() && end == digits.data() + digits.size() && (digits == "0" || digits[0] != '0');
  TL_CHECK(whole && value >= 0 && value < 128, Runtime, "Invalid device string: '", text, "'");
  d.index = static_cast<int8_t>(value);
  return d;
}

int64_t device_to_abi(Device d) {
  static constexpr int kCodes[] = {TL_DEVICE_CPU, TL_DEVICE_META, TL_DEVICE_CUDA};
  const int i = static_cast<int>(d.type);
  if (!has_row(d.type)) return TL_DEVICE_OF(kCodeWithoutRow + (i - kNumDeviceTypes), d.index);
  return TL_DEVICE_OF(i < kFirst ? kCodes[i] : TL_DEVICE_EXTENSION + (i - kFirst), d.index);
}

int device_row(int64_t code) noexcept {
  const int type = TL_DEVICE_TYPE(code);
  if (type >= TL_DEVICE_EXTENSION && type < TL_DEVICE_LIMIT) return kFirst + (type - TL_DEVICE_EXTENSION);
  if (type >= kCodeWithoutRow && type < kCodeWithoutRow + kNumWithoutRow)
    return kNumDeviceTypes + (type - kCodeWithoutRow);
  switch (type) {
    case TL_DEVICE_CPU:
      return static_cast<int>(DeviceType::CPU);
    case TL_DEVICE_META:
      return static_cast<int>(DeviceType::Meta);
    case TL_DEVICE_CUDA:
      return static_cast<int>(DeviceType::CUDA);
    default:
      return -1;
  }
}

Device device_from_abi(int64_t code) {
  const int row = device_row(code);
  TL_CHECK(row >= 0, Runtime, "no device has the type code ", TL_DEVICE_TYPE(code));
  return {static_cast<DeviceType>(row), static_cast<int8_t>(TL_DEVICE_INDEX(code))};
}

Device settled(Device d) {
  if (d.type >= DeviceType::Extension0 && d.index < 0) d.index = 0;
  if (d.is_cpu() || d.is_meta()) d.index = -1;
  return d;
}

}  // namespace tl
