// Berkeley DB 5.3 as a transactional store: page locks, a detector that breaks deadlocks, group
// commit. A commit writes the log and syncs it; with DB_TXN_NOSYNC it does neither.
#include <db.h>

#include <array>

#include "scripts/products/embedded.h"

namespace products {

// Returns false if the transaction was chosen to break a deadlock. Ends the process on an error.
bool check(int status, const char* what) {
  if (status != 0 && status != DB_LOCK_DEADLOCK) {
    fail(std::string("Berkeley DB ") + what, db_strerror(status));
  }
  return status == 0;
}
DBT dbt(void* data, uint32_t bytes) {
  DBT out{};
  out.data = data;
  out.size = out.ulen = bytes;
  out.flags = DB_DBT_USERMEM;
  return out;
}

struct Berkeley {
  Berkeley(const std::string& directory, bool durable) {
    check(db_env_create(&env, 0), "create");
    check(env->set_cachesize(env, 2, 0, 1), "cache");
    check(env->set_lg_bsize(env, 16 << 20), "log buffer");
    check(env->set_lg_max(env, 256 << 20), "log file");
    check(env->set_lk_detect(env, DB_LOCK_DEFAULT), "detector");
    check(env->set_tx_max(env, 1000), "transactions");
    commit_flags = durable ? DB_TXN_SYNC : DB_TXN_NOSYNC;
    constexpr uint32_t kUse = DB_CREATE | DB_INIT_TXN | DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL |
                              DB_THREAD | DB_PRIVATE;
    check(env->open(env, directory.c_str(), kUse, 0600), "open");
  }
  ~Berkeley() {
    for (DB* db : tables) {
      if (db != nullptr) db->close(db, 0);
    }
    env->close(env, 0);
  }
  void load(Table table, uint64_t rows) {
    DB*& db = tables[table];
    check(db_create(&db, env, 0), "table");
    if (table == kHistory) check(db->set_re_len(db, kRowBytes), "row length");
    const std::string file = std::string(kNames[table]) + ".db";
    check(db->open(db, nullptr, file.c_str(), nullptr, table == kHistory ? DB_QUEUE : DB_HASH,
                   DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0600),
          "open table");
    Row row{};
    DB_TXN* txn = nullptr;
    for (uint64_t key = 0; key < rows; ++key) {
      if (txn == nullptr) check(env->txn_begin(env, nullptr, &txn, 0), "begin");
      DBT at = dbt(&key, sizeof(key)), data = dbt(&row, kRowBytes);
      check(db->put(db, txn, &at, &data, 0), "load");
      if (key % 1000 == 999 || key + 1 == rows) {
        check(txn->commit(txn, DB_TXN_NOSYNC), "commit");
        txn = nullptr;
      }
    }
  }

  DB_ENV* env = nullptr;
  std::array<DB*, kTables> tables{};
  uint32_t commit_flags = 0;
};

class Client {
 public:
  explicit Client(Berkeley& engine) : engine_(engine) {}
  bool execute(const Transfer& transfer) {
    DB_TXN* txn = nullptr;
    check(engine_.env->txn_begin(engine_.env, nullptr, &txn, 0), "begin");
    bool done = true;
    for (uint32_t table = kAccount; done && table <= kBranch; ++table) {
      done = add(txn, engine_.tables[table], transfer.keys[table], transfer.delta);
    }
    if (!done || !append(txn, engine_.tables[kHistory], transfer.delta)) {
      check(txn->abort(txn), "abort");
      return false;
    }
    return check(txn->commit(txn, engine_.commit_flags), "commit");
  }

 private:
  static bool add(DB_TXN* txn, DB* db, uint64_t key, int64_t delta) {
    Row row;
    DBT at = dbt(&key, sizeof(key)), data = dbt(&row, kRowBytes);
    if (!check(db->get(db, txn, &at, &data, DB_RMW), "get")) return false;
    row.balance += delta;
    return check(db->put(db, txn, &at, &data, 0), "put");
  }
  static bool append(DB_TXN* txn, DB* db, int64_t delta) {
    Row row{delta, {}};
    db_recno_t number = 0;
    DBT at = dbt(&number, sizeof(number)), data = dbt(&row, kRowBytes);
    return check(db->put(db, txn, &at, &data, DB_APPEND), "append");
  }
  Berkeley& engine_;
};

}  // namespace products

int main(int argc, char** argv) {
  return products::run<products::Berkeley, products::Client>(argc, argv);
}
