// WiredTiger, MongoDB's storage engine: snapshot isolation, and a log that a durable commit syncs
// with fsync(). A commit that is not durable only writes to the log's buffer in memory.
#include <wiredtiger.h>

#include <array>
#include <cstring>

#include "scripts/products/embedded.h"

namespace products {

// Returns false if the transaction must be rolled back. Ends the process on an error.
bool check(int status, const char* what) {
  if (status != 0 && status != WT_ROLLBACK) {
    fail(std::string("WiredTiger ") + what, wiredtiger_strerror(status));
  }
  return status == 0;
}
std::string uri(uint32_t table) { return std::string("table:") + kNames[table]; }

struct WiredTiger {
  WiredTiger(const std::string& directory, bool durable) {
    const std::string config =
        std::string("create,cache_size=2GB,session_max=1000,log=(enabled),transaction_sync=") +
        (durable ? "(enabled,method=fsync)" : "(enabled=false)");
    check(wiredtiger_open(directory.c_str(), nullptr, config.c_str(), &connection), "open");
  }
  ~WiredTiger() { connection->close(connection, nullptr); }
  void load(Table table, uint64_t rows) {
    WT_SESSION* session = nullptr;
    check(connection->open_session(connection, nullptr, nullptr, &session), "session");
    const char* config =
        table == kHistory ? "key_format=r,value_format=u" : "key_format=q,value_format=u";
    check(session->create(session, uri(table).c_str(), config), "create");
    WT_CURSOR* cursor = nullptr;
    check(session->open_cursor(session, uri(table).c_str(), nullptr, "bulk", &cursor), "bulk");
    Row row{};
    WT_ITEM item{};
    item.data = &row;
    item.size = kRowBytes;
    for (uint64_t key = 0; key < rows; ++key) {
      cursor->set_key(cursor, static_cast<int64_t>(key));
      cursor->set_value(cursor, &item);
      check(cursor->insert(cursor), "load");
    }
    check(session->close(session, nullptr), "close");
  }

  WT_CONNECTION* connection = nullptr;
};

class Client {
 public:
  explicit Client(WiredTiger& engine) {
    WT_CONNECTION* const connection = engine.connection;
    check(connection->open_session(connection, nullptr, "isolation=snapshot", &session_),
          "session");
    for (uint32_t table = 0; table < kTables; ++table) {
      const char* config = table == kHistory ? "append" : nullptr;
      check(session_->open_cursor(session_, uri(table).c_str(), nullptr, config, &cursors_[table]),
            "cursor");
    }
  }
  ~Client() { session_->close(session_, nullptr); }
  bool execute(const Transfer& transfer) {
    check(session_->begin_transaction(session_, nullptr), "begin");
    bool done = true;
    for (uint32_t table = kAccount; done && table <= kBranch; ++table) {
      done = add(cursors_[table], transfer.keys[table], transfer.delta);
    }
    if (!done || !append(cursors_[kHistory], transfer.delta)) {
      check(session_->rollback_transaction(session_, nullptr), "rollback");
      return false;
    }
    return check(session_->commit_transaction(session_, nullptr), "commit");
  }

 private:
  static bool add(WT_CURSOR* cursor, uint64_t key, int64_t delta) {
    cursor->set_key(cursor, static_cast<int64_t>(key));
    if (!check(cursor->search(cursor), "search")) return false;
    WT_ITEM item;
    check(cursor->get_value(cursor, &item), "value");
    Row row;
    std::memcpy(&row, item.data, kRowBytes);
    row.balance += delta;
    item.data = &row;
    item.size = kRowBytes;
    cursor->set_value(cursor, &item);
    return check(cursor->update(cursor), "update");
  }
  static bool append(WT_CURSOR* cursor, int64_t delta) {
    const Row row{delta, {}};
    WT_ITEM item{};
    item.data = &row;
    item.size = kRowBytes;
    cursor->set_value(cursor, &item);
    return check(cursor->insert(cursor), "append");
  }
  WT_SESSION* session_ = nullptr;
  std::array<WT_CURSOR*, 4> cursors_{};
};

}  // namespace products

int main(int argc, char** argv) {
  return products::run<products::WiredTiger, products::Client>(argc, argv);
}
