/* Uses libquant.so as a C program does: IN OUT ROWS COLS BITS GROUP. IN holds floats, a matrix and a
 * vector; OUT gets the exponent, codes, scales, zero points, the numbers back, and for 2 and 4 bits
 * the product. Ends with the library's error code, or 100 where something else is wrong. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int kvq_version(void);
const char* kvq_error_text(int code);
int64_t kvq_row_bytes(int64_t cols, int bits);
int64_t kvq_groups(int64_t cols, int64_t group);
int kvq_choose_exponent(const float* x, int64_t rows, int64_t cols, int bits, int64_t group,
                        int* exponent);
int kvq_quantize(const float* x, int64_t rows, int64_t cols, int bits, int64_t group, int exponent,
                 uint8_t* codes, uint8_t* scales, uint8_t* zeros);
int kvq_dequantize(const uint8_t* codes, const uint8_t* scales, const uint8_t* zeros, int64_t rows,
                   int64_t cols, int bits, int64_t group, int exponent, float* x);
int kvq_matvec(const uint8_t* codes, const uint8_t* scales, int64_t rows, int64_t cols, int bits,
               int64_t group, int exponent, const float* x, float* y);

static void check(int code) {
  if (code < 0) {
    fprintf(stderr, "quant_library: %s\n", kvq_error_text(code));
    exit(-code);
  }
}

static void* need(void* p) {
  if (p == NULL) exit(100);
  return p;
}

int main(int argc, char** argv) {
  if (argc != 7 || kvq_version() != 1) return 100;
  const int64_t rows = atoll(argv[3]), cols = atoll(argv[4]), group = atoll(argv[6]);
  const int bits = atoi(argv[5]);
  const size_t n = (size_t)(rows * cols);
  const size_t code_bytes = (size_t)(rows * kvq_row_bytes(cols, bits));
  const size_t groups = (size_t)(rows * kvq_groups(cols, group));
  float* w = need(malloc(n * sizeof(float)));
  float* x = need(malloc((size_t)cols * sizeof(float)));
  float* y = need(calloc((size_t)rows, sizeof(float)));
  uint8_t* codes = need(calloc(code_bytes, 1));
  uint8_t* scales = need(calloc(groups, 1));
  uint8_t* zeros = need(calloc(groups, 1));

  FILE* in = need(fopen(argv[1], "rb"));
  if (fread(w, sizeof(float), n, in) != n) return 100;
  if (fread(x, sizeof(float), (size_t)cols, in) != (size_t)cols) return 100;
  fclose(in);

  int exponent = 0;
  check(kvq_choose_exponent(w, rows, cols, bits, group, &exponent));
  check(kvq_quantize(w, rows, cols, bits, group, exponent, codes, scales, zeros));
  check(kvq_dequantize(codes, scales, zeros, rows, cols, bits, group, exponent, w));
  if (bits == 2 || bits == 4) {
    check(kvq_matvec(codes, scales, rows, cols, bits, group, exponent, x, y));
  }

  FILE* out = need(fopen(argv[2], "wb"));
  const int32_t e = exponent;
  fwrite(&e, sizeof e, 1, out);
  fwrite(codes, 1, code_bytes, out);
  fwrite(scales, 1, groups, out);
  fwrite(zeros, 1, groups, out);
  fwrite(w, sizeof(float), n, out);
  fwrite(y, sizeof(float), (size_t)rows, out);
  return fclose(out) == 0 ? 0 : 100;
}
