#include "engine/storage/columns.h"

#include <cstring>

namespace logjam {
namespace {

uint64_t number_in(const Column& column, const std::byte* row) {
  LJ_ASSERT(column.bytes <= sizeof(uint64_t));
  uint64_t number = 0;  // little-endian: the low bytes come first
  std::memcpy(&number, row + column.offset, column.bytes);
  const uint32_t unused_bits = 64 - column.bytes * 8;
  if (column.kind != Column::Kind::kSigned || unused_bits == 0) return number;
  return static_cast<uint64_t>(static_cast<int64_t>(number << unused_bits) >> unused_bits);
}

void append_number(uint64_t number, bool is_signed, uint32_t decimals, std::string* line) {
  if (is_signed && static_cast<int64_t>(number) < 0) {
    *line += '-';
    number = -number;
  }
  std::string digits = std::to_string(number);
  if (decimals != 0) {
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    digits.insert(digits.size() - decimals, 1, '.');
  }
  *line += digits;
}

void append_text(const char* text, size_t bytes, std::string* line) {
  *line += '"';
  for (size_t i = 0; i < bytes && text[i] != '\0'; ++i) {
    if (text[i] == '"') *line += '"';
    *line += text[i];
  }
  *line += '"';
}

void append_hex(const std::byte* bytes, size_t count, std::string* line) {
  constexpr char kDigits[] = "0123456789abcdef";
  *line += '"';
  for (size_t i = 0; i < count; ++i) {
    *line += kDigits[std::to_integer<unsigned>(bytes[i]) >> 4];
    *line += kDigits[std::to_integer<unsigned>(bytes[i]) & 15];
  }
  *line += '"';
}

}  // namespace

void append_csv_field(const Column& column, Key key, const std::byte* row, std::string* line) {
  switch (column.kind) {
    case Column::Kind::kText:
      append_text(reinterpret_cast<const char*>(row) + column.offset, column.bytes, line);
      return;
    case Column::Kind::kBytes:
      append_hex(row + column.offset, column.bytes, line);
      return;
    case Column::Kind::kUnsigned:
    case Column::Kind::kSigned:
      const uint64_t number =
          column.of_key != nullptr ? column.of_key(key) : number_in(column, row);
      if (number == 0 && column.zero_is_null) return;
      append_number(number, column.kind == Column::Kind::kSigned, column.decimals, line);
      return;
  }
}

}  // namespace logjam
