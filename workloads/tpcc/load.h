// The initial population (clause 4.3.3.1).
#pragma once

#include <cstdint>

#include "engine/storage/database.h"
#include "workloads/tpcc/schema.h"

namespace logjam::tpcc {

// Gets the rows of the initial population, one by one.
class PopulationVisitor {
 public:
  virtual ~PopulationVisitor() = default;
  virtual void visit(Key key, const Warehouse& row) = 0;
  virtual void visit(Key key, const District& row) = 0;
  virtual void visit(Key key, const Customer& row) = 0;
  virtual void visit(Key key, const History& row) = 0;
  virtual void visit(Key key, const NewOrder& row) = 0;
  virtual void visit(Key key, const Order& row) = 0;
  virtual void visit(Key key, const OrderLine& row) = 0;
  virtual void visit(Key key, const Item& row) = 0;
  virtual void visit(Key key, const Stock& row) = 0;
};

// Makes part `part` of `parts` of the population, and shows it to `visitor`. The rows do not depend
// on `parts`. A part has the rows of some units in full: a district with its customers and their
// orders, a warehouse's row, some of its stock, or some items. Part p has the warehouses of worker
// p of so many workers, or some units of one that several workers share (Home). Parts may be made
// by several threads at once, each with a visitor of its own.
void visit_population(const Scale& scale, uint32_t part, uint32_t parts,
                      PopulationVisitor& visitor);

// Loads part `part` of `parts`. Parts may be loaded by several threads at once. Rows are allocated
// from `arena`, which one thread uses at a time.
void load(Database& database, const Scale& scale, uint32_t part, uint32_t parts, Arena& arena);

}  // namespace logjam::tpcc
