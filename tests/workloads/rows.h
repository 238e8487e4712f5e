// Access to the rows of a table, for tests that read or damage rows while no transaction runs.
#pragma once

#include <cstring>
#include <functional>

#include "engine/storage/database.h"

namespace logjam {

inline Tuple* tuple(Table& table, Key key) {
  return Table::tuple_of(table.primary().find(key, nullptr));
}
template <class Row>
Row& row(Table& table, Key key) {
  return *reinterpret_cast<Row*>(tuple(table, key)->row());
}
inline void erase(Table& table, Key key) {
  tuple(table, key)->version.store(Version(1, true).word());
}
template <class Row>
void each(Table& table, const std::function<void(Key, const Row&)>& visit) {
  table.for_each_row([&](Key key, const std::byte* bytes) {
    Row copy;
    std::memcpy(&copy, bytes, sizeof copy);
    visit(key, copy);
  });
}

}  // namespace logjam
