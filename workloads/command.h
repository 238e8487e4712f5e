// Encodes a client's input into a command, which is logged in place of row images, or decodes it
// (Client::command, take). One thread at a time uses an object of these classes.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "platform/assert.h"

namespace logjam {

// Copies fields into a command, or a command into fields. Only the constructor differs, so a client
// lists its fields once for both directions.
class CommandFields {
 public:
  // Encodes: appends fields to `*command`, which must outlive this object.
  explicit CommandFields(std::vector<std::byte>* command) : to_(command) {}
  // Decodes: reads fields from `command`, whose bytes must outlive this object.
  explicit CommandFields(std::span<const std::byte> command) : from_(command) {}

  // Copies the fields in this order. If the command ends before a field, the field keeps its value.
  template <class... Fields>
  void operator()(Fields&... fields) {
    (copy(fields), ...);
  }
  // Makes whole() false if `drawn` is false. `drawn` says whether a client can draw the decoded
  // values. A log that logjam did not write may have values that no client can draw.
  void require(bool drawn) { whole_ = whole_ && drawn; }
  // Returns whether the command had all fields copied so far, and each require() got true.
  bool whole() const {
    LJ_ASSERT(to_ == nullptr);
    return whole_;
  }
  // Returns whether whole() is true, and the command has no bytes after the fields copied so far.
  bool ended() const { return whole() && from_.empty(); }

 private:
  template <class Field>
  void copy(Field& field) {
    static_assert(std::has_unique_object_representations_v<Field>, "padding would be logged");
    auto* bytes = reinterpret_cast<std::byte*>(&field);
    if (to_ != nullptr) {
      to_->insert(to_->end(), bytes, bytes + sizeof field);
      return;
    }
    whole_ = whole_ && from_.size() >= sizeof field;
    // A log that logjam did not write may have any byte here, but a bool may be only 0 or 1.
    if constexpr (std::is_same_v<Field, bool>) whole_ = whole_ && from_[0] <= std::byte{1};
    if (!whole_) return;
    std::memcpy(bytes, from_.data(), sizeof field);
    from_ = from_.subspan(sizeof field);
  }

  std::vector<std::byte>* to_ = nullptr;
  std::span<const std::byte> from_;
  bool whole_ = true;
};

// Decodes a command that consists of 64-bit words.
class CommandWords {
 public:
  explicit CommandWords(std::span<const std::byte> command) : fields_(command) {}
  // Returns the next word. After the end of the command it returns 0, and ended() stays false.
  uint64_t next() {
    uint64_t word = 0;
    fields_(word);
    return word;
  }
  bool ended() const { return fields_.ended(); }

 private:
  CommandFields fields_;
};

}  // namespace logjam
