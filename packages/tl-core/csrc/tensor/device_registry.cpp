#include "tensor/device_registry.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"

namespace tl {

namespace {
constexpr int kFirst = static_cast<int>(DeviceType::Extension0);
std::unique_ptr<DeviceEntry> g_entries[kNumDeviceTypes];
std::atomic<int> g_count{0};

// An allocation's context travels in front of nobody: devices hand back {data, ctx}, and the pair is found by the data.
struct Contexts {
  std::mutex mutex;
  std::unordered_map<void*, std::pair<void*, int>> map;
};
Contexts& contexts() {
  static auto* c = new Contexts;
  return *c;
}

void check(int status) {
  if (status != 0) throw_pending();
}
}  // namespace

void* DeviceEntry::allocate(int index, size_t bytes) const {
  TlAllocation out{};
  check(def.allocate(def.user, index, bytes, &out));
  std::lock_guard lock(contexts().mutex);
  contexts().map[out.data] = {out.ctx, index};
  return out.data;
}

void DeviceEntry::free(void* data, size_t bytes) const {
  std::pair<void*, int> found;
  {
    std::lock_guard lock(contexts().mutex);
    auto it = contexts().map.find(data);
    found = it->second;
    contexts().map.erase(it);
  }
  def.free(def.user, found.second, TlAllocation{data, found.first}, bytes);
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

const DeviceEntry& device_entry(DeviceType type) {
  TL_CHECK(type != DeviceType::CUDA, Runtime, "tl was built without CUDA: no installed plug-in provides the device 'cuda'");
  TL_CHECK(device_registered(type) && g_entries[static_cast<int>(type)], Runtime, "no library has registered the device '",
           device_name(type), "'");
  return *g_entries[static_cast<int>(type)];
}

DeviceType register_device(const TlDeviceDef& def) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  const int slot = kFirst + g_count.load();
  TL_CHECK(slot < kNumDeviceTypes, Runtime, "at most ", kNumDeviceTypes - kFirst, " devices can be registered");
  for (int i = kFirst; i < slot; ++i)
    TL_CHECK(g_entries[i]->name != def.name, Value, "a device named '", def.name, "' is already registered");
  auto entry = std::make_unique<DeviceEntry>();
  std::memcpy(&entry->def, &def, std::min(def.struct_size, sizeof(TlDeviceDef)));
  entry->name = def.name;
  entry->type = static_cast<DeviceType>(slot);
  g_entries[slot] = std::move(entry);
  g_count.fetch_add(1, std::memory_order_release);
  return static_cast<DeviceType>(slot);
}

std::string device_name(DeviceType type) {
  switch (type) {
    case DeviceType::CPU: return "cpu";
    case DeviceType::Meta: return "meta";
    case DeviceType::CUDA: return "cuda";
    default: {
      const auto& entry = g_entries[static_cast<int>(type)];
      return entry ? entry->name : cat("extension", static_cast<int>(type) - kFirst);
    }
  }
}

std::string device_name(Device d) {
  std::string name = device_name(d.type);
  return d.index < 0 ? name : cat(name, ":", d.index);
}

namespace {
DeviceType type_named(const std::string& name, const std::string& text) {
  for (int i = 0; i < kFirst + g_count.load(); ++i)
    if (device_name(static_cast<DeviceType>(i)) == name) return static_cast<DeviceType>(i);
  std::string known = "cpu, cuda, meta";
  for (int i = kFirst; i < kFirst + g_count.load(); ++i) known += ", " + g_entries[i]->name;
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
  const bool whole = code == std::errc() && end == digits.data() + digits.size() && (digits == "0" || digits[0] != '0');
  TL_CHECK(whole && value >= 0 && value < 128, Runtime, "Invalid device string: '", text, "'");
  d.index = static_cast<int8_t>(value);
  return d;
}

int64_t device_to_abi(Device d) {
  static constexpr int kCodes[] = {TL_DEVICE_CPU, TL_DEVICE_META, TL_DEVICE_CUDA};
  const int i = static_cast<int>(d.type);
  return TL_DEVICE_OF(i < kFirst ? kCodes[i] : TL_DEVICE_EXTENSION + (i - kFirst), d.index);
}

Device device_from_abi(int64_t code) {
  const int type = TL_DEVICE_TYPE(code);
  Device d;
  d.index = static_cast<int8_t>(TL_DEVICE_INDEX(code));
  d.type = type == TL_DEVICE_CPU    ? DeviceType::CPU
           : type == TL_DEVICE_META ? DeviceType::Meta
           : type == TL_DEVICE_CUDA ? DeviceType::CUDA
                                    : static_cast<DeviceType>(kFirst + (type - TL_DEVICE_EXTENSION));
  return d;
}

}  // namespace tl
