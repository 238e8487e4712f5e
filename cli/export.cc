#include "cli/export.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/output_claim.h"
#include "engine/storage/csv_export.h"
#include "platform/fatal.h"

namespace logjam {

void claim_exports(const std::string& directory, const std::string& history_file) {
  if (!history_file.empty()) {
    claim_replaced("--export_history", history_file, "an exported history", {"{:index 0,"});
  }
  if (directory.empty()) return;
  std::error_code none;
  const auto parent = std::filesystem::weakly_canonical(directory, none).parent_path();
  if (std::filesystem::exists(parent / "manifest", none)) {
    platform::refuse("cannot export to " + directory + ", which is inside a log's directory");
  }
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
