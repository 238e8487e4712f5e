#include "logging/format/staged_record.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "platform/copy.h"

namespace logjam {
namespace {

constexpr uint64_t kFirstRoom = uint64_t{16} << 10;

}  // namespace

void StagedRecord::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t{kAlign});
}

void StagedRecord::grow(uint64_t keep_bytes) {
  room_ = std::bit_ceil(std::max(used_, kFirstRoom));
  auto* larger = static_cast<std::byte*>(::operator new[](kLead + room_, std::align_val_t{kAlign}));
  if (memory_ != nullptr) std::memcpy(larger + kLead, record(), keep_bytes);
  memory_.reset(larger);
}

void StagedRecord::fill(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags,
                        uint64_t run) {
  if (memory_ == nullptr) grow(0);
  if (!hole.vector.empty()) {
    std::memcpy(take(hole.vector.size_bytes()), hole.vector.data(), hole.vector.size_bytes());
    flags |= kVector;
  }
  auto* header = reinterpret_cast<RecordHeader*>(record());
  *header = header_for(hole, kind, txn, flags);
  header->writes = static_cast<uint16_t>(writes_);
  seal(header, used_, run, hole.position);
  platform::copy(hole.hole, record(), hole.bytes);
}

}  // namespace logjam
