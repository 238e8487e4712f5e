// LMDB: one writer at a time, a B+-tree that is copied on write. A commit writes the changed pages
// and syncs (fdatasync); with MDB_NOSYNC it syncs nothing.
#include <lmdb.h>

#include <cstring>

#include "scripts/products/engine.h"

namespace products {

void check(int status, const char* what) {
  if (status != 0) fail(std::string("LMDB ") + what, mdb_strerror(status));
}

struct Tables {
  MDB_env* env = nullptr;
  MDB_dbi dbi[kTables] = {};
  uint64_t next_history = 0;  // only the present write transaction uses it
};

class LmdbClient final : public Client {
 public:
  explicit LmdbClient(Tables& tables) : tables_(tables) {}
  bool execute(const Transfer& transfer) override {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(tables_.env, nullptr, 0, &txn), "begin");
    for (uint32_t table = kAccount; table <= kBranch; ++table) {
      add(txn, tables_.dbi[table], transfer.keys[table], transfer.delta);
    }
    Row row{transfer.delta, {}};
    uint64_t key = tables_.next_history++;
    MDB_val at{sizeof(key), &key}, data{kRowBytes, &row};
    check(mdb_put(txn, tables_.dbi[kHistory], &at, &data, MDB_APPEND), "append");
    check(mdb_txn_commit(txn), "commit");
    return true;
  }

 private:
  static void add(MDB_txn* txn, MDB_dbi dbi, uint64_t key, int64_t delta) {
    Row row;
    MDB_val at{sizeof(key), &key}, data;
    check(mdb_get(txn, dbi, &at, &data), "get");
    std::memcpy(&row, data.mv_data, kRowBytes);
    row.balance += delta;
    data = {kRowBytes, &row};
    check(mdb_put(txn, dbi, &at, &data, 0), "put");
  }
  Tables& tables_;
};

class Lmdb final : public Engine {
 public:
  Lmdb(const std::string& directory, bool durable) {
    check(mdb_env_create(&tables_.env), "create");
    check(mdb_env_set_mapsize(tables_.env, size_t{8} << 30), "mapsize");
    check(mdb_env_set_maxdbs(tables_.env, kTables), "maxdbs");
    check(mdb_env_open(tables_.env, directory.c_str(), durable ? 0 : MDB_NOSYNC, 0600), "open");
  }
  ~Lmdb() override { mdb_env_close(tables_.env); }
  void load(Table table, uint64_t rows) override {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(tables_.env, nullptr, 0, &txn), "begin");
    MDB_dbi* const dbi = &tables_.dbi[table];
    check(mdb_dbi_open(txn, kNames[table], MDB_CREATE | MDB_INTEGERKEY, dbi), "table");
    Row row{};
    for (uint64_t key = 0; key < rows; ++key) {
      MDB_val at{sizeof(key), &key}, data{kRowBytes, &row};
      check(mdb_put(txn, *dbi, &at, &data, MDB_APPEND), "load");
    }
    check(mdb_txn_commit(txn), "commit");
  }
  std::unique_ptr<Client> connect() override { return std::make_unique<LmdbClient>(tables_); }

 private:
  Tables tables_;
};

std::unique_ptr<Engine> open_engine(const std::string& directory, bool durable) {
  return std::make_unique<Lmdb>(directory, durable);
}

}  // namespace products
