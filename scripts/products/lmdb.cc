// LMDB: one writer at a time, a B+-tree that is copied on write. A commit writes the changed pages
// and syncs (fdatasync); with MDB_NOSYNC it syncs nothing.
#include <lmdb.h>

#include <cstring>

#include "scripts/products/embedded.h"

namespace products {

void check(int status, const char* what) {
  if (status != 0) fail(std::string("LMDB ") + what, mdb_strerror(status));
}

struct Lmdb {
  Lmdb(const std::string& directory, bool durable) {
    check(mdb_env_create(&env), "create");
    check(mdb_env_set_mapsize(env, size_t{8} << 30), "mapsize");
    check(mdb_env_set_maxdbs(env, kTables), "maxdbs");
    check(mdb_env_open(env, directory.c_str(), durable ? 0 : MDB_NOSYNC, 0600), "open");
  }
  ~Lmdb() { mdb_env_close(env); }
  void load(Table table, uint64_t rows) {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env, nullptr, 0, &txn), "begin");
    MDB_dbi* const dbi = &tables[table];
    check(mdb_dbi_open(txn, kNames[table], MDB_CREATE | MDB_INTEGERKEY, dbi), "table");
    Row row{};
    for (uint64_t key = 0; key < rows; ++key) {
      MDB_val at{sizeof(key), &key}, data{kRowBytes, &row};
      check(mdb_put(txn, *dbi, &at, &data, MDB_APPEND), "load");
    }
    check(mdb_txn_commit(txn), "commit");
  }

  MDB_env* env = nullptr;
  MDB_dbi tables[kTables] = {};
  uint64_t next_history = 0;  // only the present write transaction uses it
};

class Client {
 public:
  explicit Client(Lmdb& engine) : engine_(engine) {}
  bool execute(const Transfer& transfer) {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(engine_.env, nullptr, 0, &txn), "begin");
    for (uint32_t table = kAccount; table <= kBranch; ++table) {
      add(txn, engine_.tables[table], transfer.keys[table], transfer.delta);
    }
    Row row{transfer.delta, {}};
    uint64_t key = engine_.next_history++;
    MDB_val at{sizeof(key), &key}, data{kRowBytes, &row};
    check(mdb_put(txn, engine_.tables[kHistory], &at, &data, MDB_APPEND), "append");
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
  Lmdb& engine_;
};

}  // namespace products

int main(int argc, char** argv) {
  return products::run<products::Lmdb, products::Client>(argc, argv);
}
