#include "cli/export.h"

#include <cstdio>

#include "engine/storage/csv_export.h"
#include "platform/fatal.h"

namespace logjam {

void refuse_export_directory(const std::string& directory) {
  if (directory.empty()) return;
  const std::string why = claim_export_directory(directory);
  if (!why.empty()) platform::refuse(why);
}

void refuse_undescribed_tables(Database& database, const std::string& directory) {
  if (directory.empty()) return;
  if (const std::string why = undescribed_table(database); !why.empty()) platform::refuse(why);
}

void export_tables(Database& database, const std::string& directory) {
  if (directory.empty()) return;
  export_csv(database, directory);
  std::printf("exported               %zu tables to %s\n", database.tables().size(),
              directory.c_str());
}

void export_history(Workload& workload, Database& database, const std::string& history,
                    const std::string& file) {
  if (file.empty()) return;
  const std::string why = workload.export_history(database, history, file);
  if (!why.empty()) platform::refuse(why);
  std::printf("exported               the history to %s\n", file.c_str());
}

}  // namespace logjam
