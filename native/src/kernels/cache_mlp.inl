// The controller's network.

// Weights as attention's keys: a stream of n_in / 4 vectors for each 16 outputs.
void pack_mlp(const int8_t* weights, int n_in, int n_out, uint8_t* packed) {
  const int tiles = (n_out + 15) / 16;
  for (int row = 0; row < 16 * tiles; ++row) {
    for (int i = 0; i < n_in; ++i) {
      const int w = row < n_out ? weights[row * n_in + i] : 0;
      packed[row / 16 * 16 * n_in + i / 4 * 64 + row % 16 * 4 + i % 4] =
          static_cast<uint8_t>((w + 128) ^ kFlipKeys);
    }
  }
}

// A layer's scales and biases, up to a multiple of 16.
struct Outputs {
  float scale[kMaxHeadDim], bias[kMaxHeadDim];
};

template <int NQ>
void mlp_rows(const MlpLayer& layer, const Outputs& outputs, const float* x, float* y) {
  alignas(64) int8_t codes[NQ * kMaxHeadDim / 32 * kNumberBytes];
  const int n_in = layer.n_in, stride = n_in / 32 * kNumberBytes;
  float largest[NQ], scale[NQ], offset[NQ];
  // All rows first: joining lanes waits for many others.
  for (int i = 0; i < NQ; ++i) largest[i] = largest_magnitude(x + i * n_in, n_in);
  for (int i = 0; i < NQ; ++i) {
    const Rounded row = round_row(x + i * n_in, n_in, largest[i], codes + i * stride);
    scale[i] = row.scale;
    offset[i] = static_cast<float>((128 - kFlipKeys) * row.sum);
  }
  constexpr int kStreams = streams_together(NQ);
  for (int j = 0; j < layer.n_out; j += 16 * kStreams) {
    const uint8_t* streams[kStreams];
    for (int k = 0; k < kStreams; ++k) {
      const int tile = j + 16 * k < layer.n_out ? j + 16 * k : j;
      streams[k] = layer.weights + tile * n_in;
    }
    F sum[NQ][kStreams];
    dots<KeyProduct, NQ, kStreams>(streams, n_in / 4, codes, stride, sum);
    for (int k = 0; k < kStreams; ++k) {
      const int row = j + 16 * k;
      const int left = layer.n_out - row < 16 ? layer.n_out - row : 16;
      if (left <= 0) break;
      float out[16];
      for (int i = 0; i < NQ; ++i) {
        const F product = f_mul(f_load(outputs.scale + row), f_set1(scale[i]));
        const F value =
            f_fma(f_sub(sum[i][k], f_set1(offset[i])), product, f_load(outputs.bias + row));
        const F result = layer.relu ? f_max(value, f_zero()) : value;
        float* to = y + i * layer.n_out + row;
        f_store(left == 16 ? to : out, result);
        for (int r = 0; left < 16 && r < left; ++r) to[r] = out[r];
      }
    }
  }
}

void mlp_layer(const MlpLayer& layer, const float* x, int rows, float* y) {
  Outputs outputs = {};
  for (int j = 0; j < layer.n_out; ++j) {
    outputs.scale[j] = layer.scale[j];
    outputs.bias[j] = layer.bias[j];
  }
  for (int r = 0; r < rows;) {
    const int count = queries_together(rows - r, kAttendQueries);
    with_count<kAttendQueries>(count, [&]<int NQ>() {
      mlp_rows<NQ>(layer, outputs, x + r * layer.n_in, y + r * layer.n_out);
    });
    r += count;
  }
}
