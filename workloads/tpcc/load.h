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
// on `parts`. A part consists of whole units: a district with its customers and their orders, a
// warehouse's row, a chunk of its stock, or a chunk of the items. Part p has the warehouses of
// worker p of `parts` workers, or some units of a warehouse that several workers share (Home).
// Several threads may make parts at once, each with its own visitor.
void visit_population(const Scale& scale, uint32_t part, uint32_t parts,
                      PopulationVisitor& visitor);

// Loads part `part` of `parts`, with rows from `arena`. Several threads may load parts at once,
// each with its own arena.
void load(Database& database, const Scale& scale, uint32_t part, uint32_t parts, Arena& arena);

}  // namespace logjam::tpcc
