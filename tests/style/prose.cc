#include "tests/style/prose.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string_view>
#include <utility>

namespace logjam::lint {
namespace {

// A banned phrase, the advice for it, and the words after which the phrase is plain English.
struct Phrase {
  std::string_view text;
  std::string_view instead;
  std::vector<std::string_view> allowed_after = {};
};

const std::vector<Phrase>& banned_phrases() {
  static const std::vector<Phrase> phrases = {
      {"behind",
       "say after, at the end of, or beyond",
       {"fall", "falls", "fell", "falling", "left", "leave", "leaves", "lag", "lags", "stays"}},
      {"so many", "name the number"},
      {"so manyth", "say every N-th"},
      {"so much", "name the amount"},
      {"hang on", "say depend on"},
      {"hangs on", "say depends on"},
      {"hanging on", "say depending on"},
      {"hung on", "say depended on"},
      {"but for", "say except for, or without"},
      {"in vain", "say without effect"},
      {"by turns", "say in turn, or alternately"},
      {"whoever", "name the subject"},
      {"of whose", "begin a new sentence"},
  };
  return phrases;
}

// Words that end in "s" and are no verbs: a function's comment may not begin with one of them.
constexpr std::array kNoVerbs = {
    "this",         "its",          "is",        "was",     "has",     "always",  "thus",
    "less",         "plus",         "whose",     "yes",     "us",      "bytes",   "rows",
    "workers",      "threads",      "seconds",   "streams", "numbers", "units",   "transactions",
    "nanoseconds",  "microseconds", "positions", "cycles",  "lines",   "pages",   "instructions",
    "milliseconds", "words",        "files",     "keys",    "names",   "times",   "values",
    "flags",        "columns",      "ids",       "does",    "as",      "ticks",   "directories",
    "else",         "parts",        "cores",     "nodes",   "sockets", "schemes", "entries",
    "devices",      "segments",     "besides",   "unless",  "across",  "perhaps", "afterwards",
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low;
}

// Returns the word that ends at `end` of `line`, not counting white space.
std::string_view word_before(std::string_view line, size_t end) {
  while (end > 0 && !is_word(line[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_word(line[begin - 1])) --begin;
  return line.substr(begin, end - begin);
}

// Returns whether `line`, in lower case, has the phrase as whole words where it is not allowed.
bool has(std::string_view line, const Phrase& phrase) {
  for (size_t at = line.find(phrase.text); at != line.npos; at = line.find(phrase.text, at + 1)) {
    const size_t end = at + phrase.text.size();
    if ((at > 0 && is_word(line[at - 1])) || (end < line.size() && is_word(line[end]))) continue;
    const std::string_view before = word_before(line, at);
    if (std::ranges::find(phrase.allowed_after, before) == phrase.allowed_after.end()) return true;
  }
  return false;
}

std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  return begin == line.npos ? std::string_view() : line.substr(begin);
}

bool is_comment(std::string_view line) { return trimmed(line).starts_with("//"); }

// Returns whether a comment's line begins a statement with "What", as in "// What a worker owns.".
bool states_what(std::string_view line) {
  const std::string_view text = trimmed(line);
  return (text.starts_with("// What ") || text.starts_with("# What ")) &&
         text.find('?') == text.npos;
}

// Returns whether `code`, which begins with the line below a comment and ends at a `;` or `{`,
// declares a function. Constructors look like calls and do not count.
bool declares_function(const std::string& code) {
  static const std::regex other(
      R"(^\s*(class|struct|enum|union|using|namespace|typedef|if|for|while|switch|return|delete|)"
      R"(throw|new|else|do|case|static_assert|(DEFINE|DECLARE|TEST|INSTANTIATE|CHECK)\w*)\b)");
  static const std::regex function(
      R"(^\s*(template\s*<[^()]*>\s*)?(\[\[\w+\]\]\s*)?)"
      R"(((virtual|static|inline|constexpr|explicit|friend|const|unsigned|long)\s+)*)"
      R"([\w:]+(<[^;={}()]*>)?(::\w+)*(\s*(const)?[*&]+\s*|\s+)([\w:<>]+::)?)"
      R"((~?\w+|operator[^\s(]+)\s*\()");
  if (std::regex_search(code, other)) return false;
  const std::string head = code.substr(0, code.find('('));
  if (head.find('=') != head.npos && head.find("operator") == head.npos) return false;
  return std::regex_search(code, function);
}

bool begins_with_verb(std::string_view comment) {
  std::string_view text = trimmed(comment);
  text.remove_prefix(std::min(text.find_first_not_of("/ \"`"), text.size()));
  size_t end = 0;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  const std::string word = lower(text.substr(0, end));
  return word.size() > 2 && word.ends_with('s') &&
         std::ranges::find(kNoVerbs, word) == kNoVerbs.end();
}

}  // namespace

std::vector<Finding> check_prose(const std::string& path, const std::string& text) {
  std::vector<Finding> findings;
  std::vector<std::string_view> lines;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string low = lower(lines[i]);
    for (const Phrase& phrase : banned_phrases()) {
      if (!has(low, phrase)) continue;
      findings.push_back({path, i + 1,
                          "\"" + std::string(phrase.text) +
                              "\" makes readers stop: " + std::string(phrase.instead)});
    }
    if (!path.ends_with(".md") && states_what(lines[i])) {
      findings.push_back({path, i + 1, "a statement begins with \"What\": name its subject"});
    }
  }
  const bool header = path.ends_with(".h");
  if ((!header && !path.ends_with(".cc")) || path.starts_with("tests/")) return findings;
  for (size_t i = 0; i < lines.size();) {
    if (!is_comment(lines[i])) {
      ++i;
      continue;
    }
    const size_t start = i;
    while (i < lines.size() && is_comment(lines[i])) ++i;
    if (start == 0 || i == lines.size() || trimmed(lines[i]).empty()) continue;
    constexpr size_t kMostLines = 6;
    std::string code;
    for (size_t j = i; j < std::min(i + kMostLines, lines.size()); ++j) {
      code += " " + std::string(lines[j]);
      if (lines[j].find_first_of(";{") != std::string_view::npos) break;
    }
    // Within a function of a .cc a declaration of an object looks like that of a function.
    if (!header && lines[i].starts_with("  ") && code.ends_with(';')) continue;
    if (declares_function(code) && !begins_with_verb(lines[start])) {
      findings.push_back({path, start + 1, "a function's comment begins with a verb: \"Returns\""});
    }
  }
  return findings;
}

}  // namespace logjam::lint
