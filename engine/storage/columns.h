// Describes a table's columns: the parts of its key and the fields of its row. The description uses
// member pointers, so that only the row's struct defines offsets and types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/storage/tuple.h"
#include "platform/assert.h"

namespace logjam {

struct Column {
  enum class Kind : uint8_t {
    kUnsigned,
    kSigned,
    kText,   // ends before the first zero byte, if there is one
    kBytes,  // shown in hexadecimal
  };
  std::string name;
  Kind kind = Kind::kUnsigned;
  uint32_t offset = 0, bytes = 0;         // in the row
  uint64_t (*of_key)(Key key) = nullptr;  // if not null, a part of the key and not of the row
  uint32_t decimals = 0;                  // the number counts units of 10 to the power of -decimals
  bool zero_is_null = false;
};

// Appends the value of a column as a CSV field. Text and bytes are quoted; null is an empty field.
void append_csv_field(const Column& column, Key key, const std::byte* row, std::string* line);

// A list of columns. Call its functions in the order of the columns, and leave out padding.
class Columns {
 public:
  Columns& key(std::string name, uint64_t (*of_key)(Key)) {
    all_.push_back({.name = std::move(name), .of_key = of_key});
    return *this;
  }
  // Adds a field of the row: a number, or an array of char.
  template <class Row, class T>
  Columns& field(std::string name, T Row::*member) {
    add<T>(std::move(name), offset_of(member));
    return *this;
  }
  template <class Row, class Inner, class T>
  Columns& field(std::string name, Inner Row::*outer, T Inner::*member) {
    add<T>(std::move(name), offset_of(outer) + offset_of(member));
    return *this;
  }
  // Adds a column for each element of an array, named `prefix` and the element's number from 1.
  template <class Row, class T, size_t N>
  Columns& fields(const std::string& prefix, T (Row::*member)[N]) {
    for (size_t i = 0; i < N; ++i) {
      add<T>(prefix + std::to_string(i + 1), offset_of(member) + i * sizeof(T));
    }
    return *this;
  }
  // Adds the bytes [offset, offset + count) of a row that is not a struct.
  Columns& bytes(std::string name, size_t offset, size_t count) {
    add(std::move(name), Column::Kind::kBytes, offset, count);
    return *this;
  }

  // Changes the column that was added last, as zero_is_null() does, too.
  Columns& decimals(uint32_t digits) {
    LJ_ASSERT(!empty());
    all_.back().decimals = digits;
    return *this;
  }
  Columns& zero_is_null() {
    LJ_ASSERT(!empty());
    all_.back().zero_is_null = true;
    return *this;
  }

  bool empty() const { return all_.empty(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  template <class Row, class T>
  static size_t offset_of(T Row::*member) {
    alignas(16) static const Row row{};  // so that members of packed structs are aligned
    return static_cast<size_t>(reinterpret_cast<const std::byte*>(&(row.*member)) -
                               reinterpret_cast<const std::byte*>(&row));
  }

  template <class T>
  struct IsText : std::false_type {};
  template <size_t N>
  struct IsText<char[N]> : std::true_type {};
  template <size_t N>
  struct IsText<std::array<char, N>> : std::true_type {};

  template <class T>
  void add(std::string name, size_t offset) {
    static_assert(IsText<T>::value || std::is_integral_v<T>);
    add(std::move(name),
        IsText<T>::value      ? Column::Kind::kText
        : std::is_signed_v<T> ? Column::Kind::kSigned
                              : Column::Kind::kUnsigned,
        offset, sizeof(T));
  }
  void add(std::string name, Column::Kind kind, size_t offset, size_t bytes) {
    all_.push_back({.name = std::move(name),
                    .kind = kind,
                    .offset = static_cast<uint32_t>(offset),
                    .bytes = static_cast<uint32_t>(bytes)});
  }

  std::vector<Column> all_;
};

}  // namespace logjam
