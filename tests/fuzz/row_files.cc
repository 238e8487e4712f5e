// The files to which rows are appended: what an existing one has.
//
// input := a length (1 byte), the names of the columns, the file
#include "cli/output.h"
#include "tests/fuzz/memory_path.h"

namespace logjam::fuzz {
namespace {

ClaimedFile claimed(Input content) {
  static auto& memory = *new MemoryPath;
  memory.write(content);
  return {dup(memory.file()), content.size()};
}

void read_csv(Input input) {
  Parts parts(input);
  std::string header(text_of(parts.take(parts.byte())));
  std::erase(header, '\n');
  const Input content = parts.rest();
  if (!why_no_rows(claimed(content), header).empty() || content.empty()) return;
  const std::string_view text = text_of(content);
  require(text == header || text.starts_with(header + "\n"), "the columns are those of the rows");
}

void read_json(Input input) {
  if (!why_no_objects(claimed(input)).empty() || input.empty()) return;
  require(text_of(input).starts_with('{'), "a file of objects begins with one");
}

const FuzzRegistration registration({.name = "csv", .most_bytes = 400, .run = read_csv});
const FuzzRegistration json_registration({.name = "json", .most_bytes = 200, .run = read_json});

}  // namespace
}  // namespace logjam::fuzz
