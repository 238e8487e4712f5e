// The common part of schemes in which a commit waits for a position in each log: a dependency queue
// for each worker (dependency_queue.h), and waiting for its entries. A commit point is an entry of
// a worker's queue, or a position in one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "logging/schemes/aether/dependency_queue.h"
#include "logging/schemes/common/multi_stream_scheme.h"

namespace logjam {

class DependencyScheme : public MultiStreamScheme {
 public:
  bool is_durable(const CommitPoint& point) const override {
    const auto durable = [&](uint32_t s) { return stream(s).durable(); };
    switch (point.scope) {
      case CommitPoint::Scope::kStream:
        return point.sequence <= durable(point.index);
      case CommitPoint::Scope::kDependencies:
        return queues_[point.index]->met(point.sequence, durable);
      default:
        return true;
    }
  }

  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    if (point.scope != CommitPoint::Scope::kDependencies) {
      return MultiStreamScheme::wait_durable(worker, point);
    }
    std::vector<uint64_t> goal(streams());
    while (!is_durable(point)) {
      queues_[point.index]->tails_of(point.sequence, goal);
      wait_for_each(worker, [&](uint32_t s) { return CommitPoint::in_stream(s, goal[s]); });
    }
  }

 protected:
  explicit DependencyScheme(const LogConfig& config, Writers writers = Writers::kDealt)
      : MultiStreamScheme(config, Flush::kByPolicy, writers) {
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      queues_.push_back(std::make_unique<DependencyQueue>(streams()));
    }
  }

  // Returns the worker's queue, to which only the worker pushes.
  DependencyQueue& queue(uint32_t worker) { return *queues_[worker]; }

 private:
  std::vector<std::unique_ptr<DependencyQueue>> queues_;
};

}  // namespace logjam
