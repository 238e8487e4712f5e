// The files that commands write. A command claims each file that a flag names before its long work
// begins. So a mistyped name is found before the run, and destroys no file of another program. Only
// the main thread may call these functions.
//
// Some files keep no text: terminals, pipes, /dev/null. A command does not read such a file, and
// keeps it open after the claim. If the command closed a FIFO, the program that reads the FIFO
// would see the end of the file before the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/row.h"
#include "engine/stats/histogram.h"
#include "platform/assert.h"

namespace logjam {

// A claimed file. A file that keeps no text counts as empty.
class ClaimedFile {
 public:
  // Takes ownership of the descriptor.
  ClaimedFile(int file, uint64_t bytes) : file_(file), bytes_(bytes) {
    LJ_ASSERT(file >= 0 || bytes == 0);
  }
  ~ClaimedFile();
  ClaimedFile(const ClaimedFile&) = delete;
  ClaimedFile& operator=(const ClaimedFile&) = delete;

  uint64_t bytes() const { return bytes_; }
  // Returns at most `bytes` bytes from `offset` on.
  std::string read(uint64_t offset, size_t bytes) const;

 private:
  const int file_;
  const uint64_t bytes_;
};

// Claims the file `path` of the flag `flag`, such as "--csv", and creates the file. Refuses a file
// that cannot be written, was claimed for another output, or has the name of a log's file.
ClaimedFile claim_file(const std::string& flag, const std::string& path);

// Claims a file that the command replaces, as claim_file() does. Also refuses a file whose text
// begins with none of `beginnings`. `kind` names the wanted content, such as "a time line".
void claim_replaced(const std::string& flag, const std::string& path, std::string_view kind,
                    const std::vector<std::string_view>& beginnings);

// Removes those files that claims have created and that are empty. main() calls it after a refusal.
void remove_claims();

// Claims the files of --history without creating any: for each life the finished file, and the file
// with another name in which a life's history begins.
void claim_history(const std::string& path);
// Claims the file of --record, which it creates, and the file with another name in which the
// recording begins. Call it before claim_history(), which creates no file: so the two flags cannot
// name one file.
void claim_record(const std::string& path);

// The files of --csv, --json and --cdf. If a name is empty, the file is not wanted.
//
// A row is appended by one write, under a lock on the file (flock). So two commands that end at the
// same time append two whole rows and one header. A row that is written only in part is removed.
struct OutputFiles {
  std::string csv, json, cdf;

  // Reserves stdout for rows if --csv or --json is "-". All other output then goes to stderr. Call
  // it before anything is printed.
  void reserve_stdout() const;

  // Refuses unless rows with the columns of `row` can be appended to --csv's and --json's files.
  void claim(const Row& row) const;
  // Appends the row to the files of --csv and --json. Ends the process if a write fails.
  void append(const Row& row) const;

  // Refuses unless a JSON object can be appended to the file of --json.
  void claim_json() const;
  void append_json(const std::string& object) const;

  // Refuses unless the file of --cdf can be replaced.
  void claim_cdf() const;
  // Writes the distribution of the commit latency as CSV. A row has a fraction of the commits, and
  // the latency that this fraction does not exceed. Ends the process if a write fails.
  void write_cdf(const HistogramSum& ticks) const;
};
OutputFiles output_files();

// Returns why rows with the header `header` cannot be appended to the file, or an empty string.
std::string why_no_rows(const ClaimedFile& file, const std::string& header);
// Returns why JSON objects cannot be appended to the file, or an empty string.
std::string why_no_objects(const ClaimedFile& file);

// Appends the row to the CSV file. A new file begins with the names of the columns.
void append_csv(const std::string& path, const Row& row);

std::string to_json(const Row& row);

}  // namespace logjam
