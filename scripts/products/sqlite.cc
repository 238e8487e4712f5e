// SQLite in WAL mode: one writer at a time. With synchronous=FULL a commit appends its pages to the
// WAL and syncs it; with OFF it syncs nothing.
#include <sqlite3.h>

#include <array>

#include "scripts/products/embedded.h"

namespace products {

class Connection {
 public:
  Connection(const std::string& path, bool durable) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) fail("SQLite open", sqlite3_errmsg(db_));
    sqlite3_busy_timeout(db_, 60'000);
    execute("PRAGMA journal_mode=WAL");
    execute(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
  }
  ~Connection() { sqlite3_close_v2(db_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const std::string& sql) {
    char* why = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &why) != SQLITE_OK) fail(sql, why);
  }
  sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      fail(sql, sqlite3_errmsg(db_));
    }
    return statement;
  }
  // Runs a statement to its end. Returns false if another connection has locked the database.
  bool step(sqlite3_stmt* statement) {
    int status = sqlite3_step(statement);
    while (status == SQLITE_ROW) status = sqlite3_step(statement);
    sqlite3_reset(statement);
    if (status == SQLITE_DONE) return true;
    if (status == SQLITE_BUSY) return false;
    fail("SQLite step", sqlite3_errmsg(db_));
  }

 private:
  sqlite3* db_ = nullptr;
};

struct Sqlite {
  Sqlite(const std::string& directory, bool durable)
      : path(directory + "/tpcb.db"), durable(durable), keeps_open(path, durable) {}
  void load(Table table, uint64_t rows) {
    const std::string name = kNames[table];
    keeps_open.execute("BEGIN");
    keeps_open.execute("CREATE TABLE " + name +
                       "(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, filler BLOB)");
    sqlite3_stmt* insert =
        keeps_open.prepare("INSERT INTO " + name + " VALUES(?, 0, zeroblob(92))");
    for (uint64_t key = 0; key < rows; ++key) {
      sqlite3_bind_int64(insert, 1, static_cast<sqlite3_int64>(key));
      keeps_open.step(insert);
    }
    sqlite3_finalize(insert);
    keeps_open.execute("COMMIT");
  }

  const std::string path;
  const bool durable;
  Connection keeps_open;
};

class Client {
 public:
  explicit Client(Sqlite& engine) : connection_(engine.path, engine.durable) {
    begin_ = connection_.prepare("BEGIN IMMEDIATE");
    commit_ = connection_.prepare("COMMIT");
    append_ = connection_.prepare("INSERT INTO history(balance, filler) VALUES(?, zeroblob(92))");
    for (uint32_t table = kAccount; table <= kBranch; ++table) {
      const std::string name = kNames[table];
      read_[table] = connection_.prepare("SELECT balance FROM " + name + " WHERE id = ?");
      add_[table] =
          connection_.prepare("UPDATE " + name + " SET balance = balance + ? WHERE id = ?");
    }
  }
  ~Client() {
    for (sqlite3_stmt* one : {begin_, commit_, append_}) sqlite3_finalize(one);
    for (sqlite3_stmt* one : read_) sqlite3_finalize(one);
    for (sqlite3_stmt* one : add_) sqlite3_finalize(one);
  }
  bool execute(const Transfer& transfer) {
    if (!connection_.step(begin_)) return false;
    for (uint32_t table = kAccount; table <= kBranch; ++table) {
      const auto key = static_cast<sqlite3_int64>(transfer.keys[table]);
      sqlite3_bind_int64(read_[table], 1, key);
      connection_.step(read_[table]);
      sqlite3_bind_int64(add_[table], 1, transfer.delta);
      sqlite3_bind_int64(add_[table], 2, key);
      connection_.step(add_[table]);
    }
    sqlite3_bind_int64(append_, 1, transfer.delta);
    connection_.step(append_);
    while (!connection_.step(commit_)) {
    }
    return true;
  }

 private:
  Connection connection_;
  sqlite3_stmt *begin_, *commit_, *append_;
  std::array<sqlite3_stmt*, 3> read_{}, add_{};
};

}  // namespace products

int main(int argc, char** argv) {
  return products::run<products::Sqlite, products::Client>(argc, argv);
}
