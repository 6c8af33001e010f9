// CPU and memory limits: the least of affinity, /proc and the quotas of all cgroup levels (v1 and v2).
#include "base/cgroup.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

#include "base/text.h"

namespace tl {

namespace {

std::string read_file(const std::string& path) {
  std::string text;
  if (std::FILE* file = std::fopen(path.c_str(), "re")) {
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    std::fclose(file);
  }
  return text;
}

// The process's path in the hierarchy of a v1 controller, or in v2's only one (""): "/" when it isn't listed.
std::string group_of(const std::string& table, const std::string& controller) {
  for (size_t at = 0; at < table.size();) {
    const size_t end = std::min(table.find('\n', at), table.size());
    const std::string line = table.substr(at, end - at);  // "4:cpu,cpuacct:/docker/1f2e"
    at = end + 1;
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names == "," + controller + "," ||
        (!controller.empty() && names.find("," + controller + ",") != names.npos))
      return line.substr(second + 1);
  }
  return "/";
}

// Calls visit(folder) for the process's group and each group above it: the limits of all of them hold.
template <class Visit>
void for_each_level(const std::string& root, std::string group, Visit visit) {
  while (group.size() > 1) {
    visit(root + group + "/");
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  visit(root + "/");
}

constexpr const char* kRoot = "/sys/fs/cgroup";

double cpu_quota(const std::string& table) {
  double cpus = std::numeric_limits<double>::infinity();
  auto lower = [&](double quota, double period) {
    if (quota > 0 && period > 0) cpus = std::min(cpus, quota / period);
  };
  for_each_level(kRoot, group_of(table, ""), [&](const std::string& folder) {
    double quota, period;  // the file says "150000 100000", or "max 100000"
    if (std::sscanf(read_file(folder + "cpu.max").c_str(), "%lf %lf", &quota, &period) == 2)
      lower(quota, period);
  });
  for_each_level(cat(kRoot, "/cpu"), group_of(table, "cpu"), [&](const std::string& folder) {
    lower(std::atof(read_file(folder + "cpu.cfs_quota_us").c_str()),
          std::atof(read_file(folder + "cpu.cfs_period_us").c_str()));
  });
  return cpus;
}

int affinity_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more than 1024 CPUs
}

}  // namespace

int usable_cpus() {
  const double quota = cpu_quota(read_file("/proc/self/cgroup"));
  const int cpus = affinity_cpus();
  return std::max(1, quota < cpus ? static_cast<int>(quota + 0.999) : cpus);
}

int64_t memory_quota() {
  const std::string table = read_file("/proc/self/cgroup");
  int64_t bytes = std::numeric_limits<int64_t>::max();
  auto lower = [&](const std::string& file) {
    const long long limit = std::atoll(read_file(file).c_str());  // 0 for "max" and for a missing file
    constexpr long long kUnlimited = 1ll << 60;                   // v1 writes the largest multiple of a page
    if (limit > 0 && limit < kUnlimited) bytes = std::min<int64_t>(bytes, limit);
  };
  for_each_level(kRoot, group_of(table, ""),
                 [&](const std::string& folder) { lower(folder + "memory.max"); });
  for_each_level(cat(kRoot, "/memory"), group_of(table, "memory"),
                 [&](const std::string& folder) { lower(folder + "memory.limit_in_bytes"); });
  return bytes;
}

int64_t resident_memory() {
  long long size = 0, resident = 0;  // pages
  std::sscanf(read_file("/proc/self/statm").c_str(), "%lld %lld", &size, &resident);
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t usable_memory() {
  const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(physical, memory_quota());
}

}  // namespace tl
