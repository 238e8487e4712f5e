// The ledger's history in the form of Elle's list-append histories, for public checkers: Kingsbury
// and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2020.
//
// The row of a key stands for a list. Each write appends the number of its transaction, so the
// version that a transaction saw is the list of all writes up to that one. An update reads the row
// that it overwrites, so it is written as a read, an append, and a read of its own result. A cell
// is a list too. A blind write, an insert and an erase are appends to it alone.
//
// The file has an EDN map on each line. Nothing is known of the real time between transactions, so
// each is a process of its own, and all are invoked before the first one ends. The recovered
// database is one transaction more, which reads all keys. It begins after all others have ended, so
// a checker of strict serializability demands that it sees all that was acknowledged (R1). How a
// transaction ends:
//
//   :ok    it was acknowledged, or one of its writes is in the recovered database
//   :fail  neither; so it never happened, and no other transaction may have read from it
//   :info  the acknowledgements of its life prove nothing (R8): they may be lost. It is not in the
//          database
//
// This file knows nothing of checker.h, and repeats none of its reasoning.
#pragma once

#include <string>

#include "proof/ledger/checker.h"
#include "proof/ledger/history.h"

namespace logjam::ledger {

// Writes the file `path`. Returns why the history cannot be exported, in one sentence, or an empty
// string. Ends the process if the file cannot be written.
std::string export_list_append(const LedgerRows& rows, const History& history,
                               const std::string& path);

}  // namespace logjam::ledger
