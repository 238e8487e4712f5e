// `nvm[:NS]`: a mapped file that is written with stores. The bytes become durable by cache-line
// write-back, a store fence, and NS nanoseconds of waiting that stand for the medium.
//
// On a file system with DAX (the kernel grants MAP_SYNC) this is persistent memory and survives a
// power cut. On any other file it is an emulation, as in the papers (Poplar 6.1: DRAM and a busy
// loop). There the kernel has every byte that was stored, so a killed process loses nothing,
// written back or not; a power cut may lose any of it. A tmpfs emulates best. On the file system of
// a disk the kernel write-protects pages now and then, to write them out.
//
// The whole range of addresses that the log may grow into is mapped at once. DeviceFile's grower
// writes zeros ahead of the log, so that every page that is handed out has its blocks: a full disk
// gives the grower an errno and not the process a SIGBUS. The grower also faults the pages in, so
// that no worker has to.
//
// Protocol. Memory is handed out behind make_room() (acquire). The thread that gets a part of it
// owns that part.
#pragma once

#include "logging/device/device_file.h"

namespace logjam {

class NvmDevice final : public Device, private PersistentMemory {
 public:
  NvmDevice(const DeviceOptions& options, double latency_ns);

  // Records are multiples of 8 bytes, so no byte is written twice.
  uint32_t block_bytes() const override { return 8; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override;
  bool finished(uint32_t = 0) override { return true; }
  void wait(uint64_t) override {}
  // The addresses stay mapped; no thread uses them any more.
  void release(uint64_t before) override { file_.release(before); }
  // start() does block, but for less time than it takes to wake a thread.
  bool start_blocks() const override { return false; }
  PersistentMemory* memory() override { return this; }

 private:
  std::byte* mapped(uint64_t offset, uint64_t bytes) override;
  bool persist(std::span<const std::byte> bytes) override;

  struct Mapping {
    ~Mapping();
    std::byte* base = nullptr;
  };
  int grown(int fd, uint64_t begin, uint64_t end);

  const uint64_t latency_ticks_;
  const uint64_t prefault_bytes_;  // how much of a recycled file is faulted in at the start
  Mapping mapping_;                // outlives the grower
  DeviceFile file_;                // calls grown()
};

}  // namespace logjam
