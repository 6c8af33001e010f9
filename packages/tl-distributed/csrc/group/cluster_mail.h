// Messages of ranks on several machines: through memory on one machine, and between machines through a
// connection that the sender makes with its first message.
#pragma once

#include <string>
#include <vector>

#include "group/cluster.h"
#include "group/local_mail.h"

namespace tl::distributed {

class ClusterMail final : public Mail {
 public:
  explicit ClusterMail(Cluster& cluster);

  Membership& members() override { return cluster_; }
  int64_t read(int from, char* to, int64_t most) override;
  int64_t write(int to, const char* from, int64_t most) override;
  void check_peer(int rank, const Call& call) override;
  bool is_dead(int rank) override;
  uint32_t change_count() override { return local_.change_count(); }
  void notify() override { local_.notify(); }
  void await(uint32_t seen, const std::vector<int>& readable, const std::vector<int>& writable,
             int64_t ns) override;

 private:
  struct Links {
    Descriptor in, out;
    std::string end;  // why one of them has ended
  };
  bool is_here(int rank) const { return cluster_.position(rank).machine == cluster_.machine(); }
  int number(int rank) const { return cluster_.position(rank).number; }
  Links& links(int rank) { return links_[static_cast<size_t>(rank)]; }
  template <class F>
  int64_t unless_ended(Links& links, F&& body);

  Cluster& cluster_;
  LocalMail local_;
  std::vector<Links> links_;  // by rank
};

}  // namespace tl::distributed
