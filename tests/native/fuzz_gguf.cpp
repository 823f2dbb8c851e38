// libFuzzer target of the GGUF reader: any bytes either parse or throw kvq::Error. Build with
// -DKVQ_FUZZ=ON and clang; seeds come from `kvq_tests --seeds DIR`.
#include <cstddef>
#include <cstdint>

#include "error.h"
#include "gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const kvq::Gguf file(kvq::open_memory(data, size));
    for (const kvq::TensorInfo& t : file.tensors()) {
      std::vector<uint8_t> row(t.row_bytes);
      file.read_rows(t, t.rows - 1, 1, row.data());
    }
  } catch (const kvq::Error&) {
    // The expected answer to damaged bytes.
  }
  return 0;
}
