#include "engine/storage/csv_export.h"

#include <filesystem>
#include <system_error>

#include "platform/output_file.h"
#include "platform/text.h"

namespace logjam {
namespace {

void export_table(Table& table, const std::string& path) {
  platform::OutputFile file(path);
  const Columns& columns = table.schema().columns;
  std::string line = platform::join(columns, ",", &Column::name);
  file.write(line + "\n");
  table.for_each_row([&](Key key, const std::byte* row) {
    line.clear();
    for (const Column& column : columns) {
      if (&column != &*columns.begin()) line += ',';
      append_csv_field(column, key, row, &line);
    }
    line += '\n';
    file.write(line);
  });
}

}  // namespace

std::string undescribed_table(Database& database) {
  for (const auto& table : database.tables()) {
    if (!table->schema().columns.empty()) continue;
    return "the workload does not describe the columns of its table " + table->schema().name +
           ", so the database cannot be exported; create_tables() describes them by "
           "TableSchema::columns (engine/storage/columns.h)";
  }
  return "";
}

std::string claim_export_directory(const std::string& directory) {
  const auto refusal = [&](const std::string& why) {
    return "cannot export to " + directory + why;
  };
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return refusal(": " + error.message());
  const bool empty = std::filesystem::is_empty(directory, error);
  if (error) return refusal(": " + error.message());
  return empty ? "" : refusal(", which is not empty");
}

void export_csv(Database& database, const std::string& directory) {
  for (const auto& table : database.tables()) {
    export_table(*table, directory + "/" + table->schema().name + ".csv");
  }
}

}  // namespace logjam
