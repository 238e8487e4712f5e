// The ledger's history in the form of Elle's list-append histories, for public checkers: Kingsbury
// and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2020.
//
// The row of a key stands for a list. Each write appends the number of its transaction, so the
// version that a transaction saw is the list of all writes up to that version. An update reads the
// row that it overwrites, so it becomes a read, an append, and a read of its own result. A cell is
// a list too. A blind write, an insert or an erase becomes an append.
//
// The file has an EDN map on each line. The real-time order of transactions is unknown, so each
// transaction is a process of its own, and all begin before the first one ends. The recovered
// database is a further transaction, which reads all keys. It begins after all other transactions
// have ended, so a checker of strict serializability demands that it sees all acknowledged
// transactions (R1). A transaction ends with:
//
//   :ok    it was acknowledged, or one of its writes is in the recovered database
//   :fail  it was not acknowledged, and none of its writes is in the recovered database; no other
//          transaction may have read from it
//   :info  none of its writes is in the recovered database, and the acknowledgements of its life
//          prove nothing (R8), so it may be lost
//
// The export shares no code with the checker.
#pragma once

#include <string>

#include "proof/ledger/checker.h"
#include "proof/ledger/history.h"

namespace logjam::ledger {

// Writes the file `path`. Returns an empty string, or one sentence that says why the history cannot
// be exported. Ends the process if the file cannot be written.
std::string export_list_append(const LedgerRows& rows, const History& history,
                               const std::string& path);

}  // namespace logjam::ledger
