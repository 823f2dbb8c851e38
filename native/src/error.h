// The one exception of the engine: a code for programs and a sentence for people.
#pragma once

#include <stdexcept>
#include <string>

namespace kvq {

// code: "file", "model", "argument", "context", "isa", "snapshot", "cancelled" or "memory".
class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

}  // namespace kvq
