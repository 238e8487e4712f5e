// The texts that Payment writes (clause 2.5.2.2): H_DATA, and C_DATA of customers with bad credit.
// Each payment inserts a note at the beginning of C_DATA.
#pragma once

#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// Sets H_DATA of `payment` to the names of warehouse and district, with four spaces between them.
void name_places(const Warehouse& warehouse, const District& district, History* payment);

// Inserts the note of `payment` at the beginning of C_DATA. Cuts off the end of the old text.
void note_bad_credit(const History& payment, char (&data)[500]);

// A payment by a customer with bad credit, as HISTORY has it.
struct NotedPayment {
  size_t customer = 0;  // an index into Totals::customers
  Key key = 0;          // the key in HISTORY; a worker's payments have ascending keys
  History row;
};
void sort_payments(std::vector<NotedPayment>* payments);
// Returns the payments of one customer. `sorted` is the result of sort_payments().
std::span<const NotedPayment> payments_of(size_t customer, std::span<const NotedPayment> sorted);

// Returns whether the payments of one customer change the C_DATA `loaded` into `data` in some order
// that keeps the order of each worker's payments.
bool payments_explain(std::span<const NotedPayment> payments, const char (&loaded)[500],
                      const char (&data)[500]);

}  // namespace logjam::tpcc
