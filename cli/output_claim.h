// The right to write a file that a flag names. A command claims each of its files before its long
// work begins, so that a mistyped name costs neither a run nor a file that the command has not
// made. The main thread calls these functions. "Refuses" means: ends the process with one sentence
// and kExitBadInput. A refusal removes the files that claims have created.
//
// A command may also write to what keeps no text: a terminal, a pipe, /dev/null. Such a file is
// never read. It stays open from its claim on, so that the reader of a FIFO sees no end before the
// text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace logjam {

// A file that is claimed. Without text: an empty one, and one that keeps no text.
class ClaimedFile {
 public:
  // Takes over the descriptor.
  ClaimedFile(int file, uint64_t bytes) : file_(file), bytes_(bytes) {}
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

// Claims the file `path` of the flag `flag`, such as "--csv", and creates it. Refuses a file that
// cannot be written, that another output has, or that has the name of a log's file.
ClaimedFile claim_file(const std::string& flag, const std::string& path);

// Claims a file that the command replaces. Also refuses a file with text, unless the text begins as
// one of `beginnings`. `kind` is what a refusal says that the file is not, such as "a time line".
void claim_replaced(const std::string& flag, const std::string& path, std::string_view kind,
                    const std::vector<std::string_view>& beginnings);

// Claims the files of --history, without creating them: those of each life, and their names until
// their run has begun.
void claim_history(const std::string& path);

}  // namespace logjam
