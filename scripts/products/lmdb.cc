// LMDB: one writer at a time, a B+-tree that is copied on write. A commit writes the changed pages
// and syncs (fdatasync); with MDB_NOSYNC it syncs nothing.
#include <lmdb.h>

#include <cstring>

#include "scripts/products/engine.h"

namespace products {
namespace {

void check(int status, const char* what) {
  if (status != 0) fail(std::string("LMDB ") + what, mdb_strerror(status));
}
MDB_val val(void* data, size_t bytes) { return {bytes, data}; }

struct Tables {
  MDB_env* env = nullptr;
  MDB_dbi dbi[4] = {};
  uint64_t next_history = 0;  // under the one write transaction
};

class LmdbClient final : public Client {
 public:
  explicit LmdbClient(Tables& tables) : tables_(tables) {}
  bool execute(const Transfer& transfer) override {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(tables_.env, nullptr, 0, &txn), "begin");
    add(txn, kAccount, transfer.account, transfer.delta);
    add(txn, kTeller, transfer.teller, transfer.delta);
    add(txn, kBranch, transfer.branch, transfer.delta);
    Row row{};
    row.balance = transfer.delta;
    uint64_t key = tables_.next_history++;
    MDB_val at = val(&key, sizeof(key)), data = val(&row, kRowBytes);
    check(mdb_put(txn, tables_.dbi[kHistory], &at, &data, MDB_APPEND), "append");
    check(mdb_txn_commit(txn), "commit");
    return true;
  }

 private:
  void add(MDB_txn* txn, Table table, uint64_t key, int64_t delta) {
    Row row;
    MDB_val at = val(&key, sizeof(key)), data;
    check(mdb_get(txn, tables_.dbi[table], &at, &data), "get");
    std::memcpy(&row, data.mv_data, kRowBytes);
    row.balance += delta;
    data = val(&row, kRowBytes);
    check(mdb_put(txn, tables_.dbi[table], &at, &data, 0), "put");
  }
  Tables& tables_;
};

class Lmdb final : public Engine {
 public:
  Lmdb(const std::string& directory, bool durable) {
    check(mdb_env_create(&tables_.env), "create");
    check(mdb_env_set_mapsize(tables_.env, size_t{8} << 30), "mapsize");
    check(mdb_env_set_maxdbs(tables_.env, 4), "maxdbs");
    check(mdb_env_open(tables_.env, directory.c_str(), durable ? 0 : MDB_NOSYNC, 0600), "open");
  }
  ~Lmdb() override { mdb_env_close(tables_.env); }
  void load(uint64_t branches) override {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(tables_.env, nullptr, 0, &txn), "begin");
    for (uint32_t table = 0; table < 4; ++table) {
      check(mdb_dbi_open(txn, kNames[table], MDB_CREATE | MDB_INTEGERKEY, &tables_.dbi[table]),
            "table");
      Row row{};
      for (uint64_t key = 0; key < branches * kRows[table]; ++key) {
        MDB_val at = val(&key, sizeof(key)), data = val(&row, kRowBytes);
        check(mdb_put(txn, tables_.dbi[table], &at, &data, MDB_APPEND), "load");
      }
    }
    check(mdb_txn_commit(txn), "commit");
  }
  std::unique_ptr<Client> connect() override { return std::make_unique<LmdbClient>(tables_); }

 private:
  Tables tables_;
};

}  // namespace

std::unique_ptr<Engine> open_engine(const std::string& directory, bool durable) {
  return std::make_unique<Lmdb>(directory, durable);
}

}  // namespace products
