// `nvm[:NS]`: a mapped file, written with stores and made durable by cache-line write-back, a store
// fence, and NS nanoseconds of waiting that stand for the medium.
//
// On a file system with DAX (MAP_SYNC is granted) this is persistent memory and survives a power
// cut. On any other file it is an emulation, as in the papers (Poplar 6.1: DRAM and a busy loop):
// the kernel has what was stored, so a killed process loses nothing, written back or not, and a
// power cut loses what it likes. A tmpfs emulates best: on a disk's file system the kernel
// write-protects pages behind our back to write them out.
//
// The whole range of addresses that the log may grow into is mapped at once; DeviceFile's grower
// writes zeros ahead of the log, so that every page handed out has its blocks (a full disk is its
// errno and not our SIGBUS), and faults the pages in, so that a worker does not.
//
// Protocol: memory is handed out behind make_room() (acquire); who gets it owns it.
#pragma once

#include "logging/device/device_file.h"

namespace logjam {

class NvmDevice final : public Device, private PersistentMemory {
 public:
  NvmDevice(const DeviceOptions& options, double latency_ns);

  // Records are multiples of it: nothing is written twice.
  uint32_t block_bytes() const override { return 8; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) override;
  bool finished() override { return true; }
  void wait(uint64_t) override {}
  // It does, but for less time than waking a thread takes.
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
  const uint64_t prefault_bytes_;  // of a recycled file
  Mapping mapping_;                // outlives the grower
  DeviceFile file_;                // calls grown()
};

}  // namespace logjam
