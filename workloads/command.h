// How clients put their input into a command, and take it out again (Client::command, take).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace logjam {

// Copies fields into a command, or a command into fields: one list of them does both.
class CommandFields {
 public:
  explicit CommandFields(std::vector<std::byte>* command) : to_(command) {}
  explicit CommandFields(std::span<const std::byte> command) : from_(command) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (copy(fields), ...);
  }
  // All fields so far were there.
  bool whole() const { return whole_; }
  // And nothing else is.
  bool ended() const { return whole_ && from_.empty(); }

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
    if (!whole_) return;
    std::memcpy(bytes, from_.data(), sizeof field);
    from_ = from_.subspan(sizeof field);
  }

  std::vector<std::byte>* to_ = nullptr;
  std::span<const std::byte> from_;
  bool whole_ = true;
};

// Takes a command of words apart. Behind the last one there come zeros, and ended() is false.
class CommandWords {
 public:
  explicit CommandWords(std::span<const std::byte> command) : fields_(command) {}
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
