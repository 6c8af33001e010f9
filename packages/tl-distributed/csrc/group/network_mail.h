// Messages over the connections of a network.
#pragma once

#include <string>
#include <vector>

#include "group/mail.h"
#include "network/mesh.h"

namespace tl::distributed {

class NetworkMail final : public Mail {
 public:
  explicit NetworkMail(Mesh& mesh) : mesh_(mesh), ended_(static_cast<size_t>(mesh.size())) {}

  Membership& members() override { return mesh_; }
  int64_t read(int from, char* to, int64_t most) override;
  int64_t write(int to, const char* from, int64_t most) override;
  void check_peer(int rank, const Call& call) override;
  bool is_dead(int rank) override { return !ended_[static_cast<size_t>(rank)].empty(); }
  uint32_t change_count() override { return 0; }
  void notify() override {}
  void await(uint32_t seen, const std::vector<int>& readable, const std::vector<int>& writable,
             int64_t ns) override;

 private:
  template <class F>
  int64_t unless_ended(int rank, F&& body);

  Mesh& mesh_;
  std::vector<std::string> ended_;  // by rank, why its connection has ended
};

}  // namespace tl::distributed
