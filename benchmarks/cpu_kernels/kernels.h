/* The kernels of benchmarks/cpu_device.py in one text for OpenCL and for C, where a block's threads are loops.

THREADS { ... } is done by each thread; SYNC ends what is between two barriers. OWN(type, name) is a variable of each
thread that lives across barriers, used as MY(name). */

KERNEL(add) { THREADS { int i = GX; if (i < n) c[i] = a[i] + b[i]; } }

KERNEL(stride) { THREADS { for (int i = GX; i < n; i += GRID_X * BX) c[i] = a[i] * 2 + b[i]; } }

KERNEL(expo) { THREADS { int i = GX; if (i < n) c[i] = EXP(a[i]); } }

KERNEL(gray) {
  GLOBAL uchar *p = (GLOBAL uchar *)a; GLOBAL uchar *out = (GLOBAL uchar *)c;
  THREADS { int x = GX, y = GY; if (x < n && y < n) { int at = 3 * (y * n + x);
    out[y * n + x] = (uchar)(0.21f * p[at] + 0.72f * p[at + 1] + 0.07f * p[at + 2]); } }
}

KERNEL(blur) {
  THREADS { int x = GX, y = GY; if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
    float total = 0;
    for (int dy = -1; dy < 2; dy++) for (int dx = -1; dx < 2; dx++) total += a[(y + dy) * n + x + dx];
    c[y * n + x] = total / 9; } }
}

KERNEL(product) {
  THREADS { int x = GX, y = GY; if (x < n && y < n) {
    float total = 0; for (int k = 0; k < n; k++) total += a[y * n + k] * b[k * n + x];
    c[y * n + x] = total; } }
}

KERNEL(matrix) {
  THREADS { int row = BLOCK_Y * 16 + TX / 4, column = BLOCK_X * 8 + 2 * (TX % 4);
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int k = 0; k < n; k++) {
      float low = a[row * n + k], high = a[(row + 8) * n + k], left = b[k * n + column], right = b[k * n + column + 1];
      s0 += low * left; s1 += low * right; s2 += high * left; s3 += high * right; }
    c[row * n + column] = s0; c[row * n + column + 1] = s1;
    c[(row + 8) * n + column] = s2; c[(row + 8) * n + column + 1] = s3; }
}

#define TILES(name, T) \
KERNEL(name) { \
  SHARED(float, left, T * T); SHARED(float, right, T * T); OWN(float, total); \
  THREADS { MY(total) = 0; } \
  for (int step = 0; step < n / T; step++) { \
    THREADS { left[TY * T + TX] = a[(BLOCK_Y * T + TY) * n + step * T + TX]; \
              right[TY * T + TX] = b[(step * T + TY) * n + BLOCK_X * T + TX]; } SYNC \
    THREADS { float sum = MY(total); \
              for (int k = 0; k < T; k++) sum += left[TY * T + k] * right[k * T + TX]; MY(total) = sum; } SYNC \
  } \
  THREADS { c[(BLOCK_Y * T + TY) * n + BLOCK_X * T + TX] = MY(total); } \
}
TILES(tiles16, 16)
TILES(tiles32, 32)

KERNEL(tree) {
  SHARED(float, s, 256);
  THREADS { s[TX] = a[GX]; } SYNC
  for (int step = BX / 2; step > 0; step /= 2) { THREADS { if (TX < step) s[TX] += s[TX + step]; } SYNC }
  THREADS { if (TX == 0) c[BLOCK_X] = s[0]; }
}

KERNEL(warpsum) {
  SHARED(float, s, 256);
  THREADS { s[TX] = a[GX]; } SYNC
  for (int step = 16; step > 0; step /= 2) { THREADS { if (TX % 32 < step) s[TX] += s[TX + step]; } SYNC }
  THREADS { if (TX % 32 == 0) c[GX / 32] = s[TX]; }
}

KERNEL(blocksum) {
  SHARED(float, s, 256);
  THREADS { s[TX] = a[GX]; } SYNC
  for (int step = 128; step > 0; step /= 2) { THREADS { if (TX < step) s[TX] += s[TX + step]; } SYNC }
  THREADS { if (TX == 0) c[BLOCK_X] = s[0]; }
}

KERNEL(scan) {
  SHARED(float, s, 256); OWN(float, before);
  THREADS { s[TX] = a[GX]; } SYNC
  for (int step = 1; step < 256; step *= 2) {
    THREADS { MY(before) = TX >= step ? s[TX - step] : 0; } SYNC
    THREADS { s[TX] += MY(before); } SYNC
  }
  THREADS { c[GX] = s[TX]; }
}

KERNEL(warpscan) {
  SHARED(float, s, 256); OWN(float, before);
  THREADS { s[TX] = a[GX]; } SYNC
  for (int step = 1; step < 32; step *= 2) {
    THREADS { MY(before) = TX % 32 >= step ? s[TX - step] : 0; } SYNC
    THREADS { s[TX] += MY(before); } SYNC
  }
  THREADS { c[GX] = s[TX]; }
}

KERNEL(histogram) {
  SHARED(int, bins, 256);
  THREADS { bins[TX] = 0; } SYNC
  THREADS { for (int k = 0; k < 16; k++) LOCAL_ADD(bins + ((int)(a[(BLOCK_X * 16 + k) * 256 + TX] * 16) & 255), 1); } SYNC
  THREADS { GLOBAL_ADD((GLOBAL int *)c + TX, bins[TX]); }
}

KERNEL(transpose) { THREADS { c[GX * n + GY] = a[GY * n + GX]; } }

KERNEL(turned) {
  SHARED(float, s, 16 * 17);
  THREADS { s[TY * 17 + TX] = a[(BLOCK_Y * 16 + TY) * n + BLOCK_X * 16 + TX]; } SYNC
  THREADS { c[(BLOCK_X * 16 + TY) * n + BLOCK_Y * 16 + TX] = s[TX * 17 + TY]; }
}

KERNEL(stencil) {
  SHARED(float, s, 1026); OWN(float, value);
  THREADS { s[TX + 1] = a[GX]; if (TX == 0) { s[0] = 0; s[1025] = 0; } } SYNC
  for (int k = 0; k < 32; k++) {
    THREADS { MY(value) = (s[TX] + s[TX + 1] + s[TX + 2]) / 3; } SYNC
    THREADS { s[TX + 1] = MY(value); } SYNC
  }
  THREADS { c[GX] = s[TX + 1]; }
}

KERNEL(uniform) {
  SHARED(float, s, 257); OWN(float, value);
  THREADS { s[TX] = a[GX]; if (TX == 0) s[256] = 0; } SYNC
  while (s[256] < 20) {
    THREADS { MY(value) = s[TX] * 0.5f + s[(TX + 1) & 255] * 0.5f; } SYNC
    THREADS { s[TX] = MY(value); if (TX == 0) s[256] += 1; } SYNC
  }
  THREADS { c[GX] = s[TX]; }
}

KERNEL(dynamic) {
  SHARED(float, s, 256);
  THREADS { s[TX] = a[GX]; } SYNC
  THREADS { c[GX] = s[255 - TX]; }
}

KERNEL(cube) {
  THREADS { int x = GX, y = GY, z = GZ; if (x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1) {
    int at = (z * n + y) * n + x;
    c[at] = a[at - 1] + a[at + 1] + a[at - n] + a[at + n] + a[at - n * n] + a[at + n * n] - 6 * a[at]; } }
}

KERNEL(softmax) {
  SHARED(float, s, 256);
  THREADS { float most = a[BLOCK_X * n + TX];
    for (int i = TX + 256; i < n; i += 256) most = MAX(most, a[BLOCK_X * n + i]);
    s[TX] = most; } SYNC
  for (int step = 128; step > 0; step /= 2) { THREADS { if (TX < step) s[TX] = MAX(s[TX], s[TX + step]); } SYNC }
  float most = s[0]; SYNC
  THREADS { float total = 0;
    for (int i = TX; i < n; i += 256) { float e = EXP(a[BLOCK_X * n + i] - most); c[BLOCK_X * n + i] = e; total += e; }
    s[TX] = total; } SYNC
  for (int step = 128; step > 0; step /= 2) { THREADS { if (TX < step) s[TX] += s[TX + step]; } SYNC }
  THREADS { for (int i = TX; i < n; i += 256) c[BLOCK_X * n + i] /= s[0]; }
}

KERNEL(bitonic) {
  SHARED(float, s, 256);
  THREADS { s[TX] = a[GX]; } SYNC
  for (int k = 2; k <= 256; k *= 2) for (int j = k / 2; j > 0; j /= 2) {
    THREADS { int other = TX ^ j; if (other > TX) { float x = s[TX], y = s[other];
      if ((x > y) == ((TX & k) == 0)) { s[TX] = y; s[other] = x; } } } SYNC }
  THREADS { c[GX] = s[TX]; }
}

KERNEL(nbody) {
  SHARED(float, sx, 256); SHARED(float, sy, 256); OWN(float, fx); OWN(float, fy);
  THREADS { MY(fx) = 0; MY(fy) = 0; }
  for (int tile = 0; tile < n / 256; tile++) {
    THREADS { sx[TX] = a[tile * 256 + TX]; sy[TX] = b[tile * 256 + TX]; } SYNC
    THREADS { float x = a[GX], y = b[GX], px = MY(fx), py = MY(fy);
      for (int j = 0; j < 256; j++) { float dx = sx[j] - x, dy = sy[j] - y, q = dx * dx + dy * dy + 0.01f;
        float f = 1 / (q * SQRT(q)); px += dx * f; py += dy * f; }
      MY(fx) = px; MY(fy) = py; } SYNC
  }
  THREADS { c[GX] = MY(fx) + MY(fy); }
}

KERNEL(convolution) {
  SHARED(float, s, 272);
  THREADS { s[TX] = a[GX]; if (TX < 16) s[256 + TX] = GX + 256 < n ? a[GX + 256] : 0; } SYNC
  THREADS { float total = 0; for (int k = 0; k < 17; k++) total += s[TX + k] * b[k]; c[GX] = total; }
}

KERNEL(mandelbrot) {
  THREADS { float cx = GX * (3.0f / n) - 2, cy = GY * (2.0f / n) - 1, x = 0, y = 0; int count = 0;
    while (count < 200 && x * x + y * y < 4) { float next = x * x - y * y + cx; y = 2 * x * y + cy; x = next; count++; }
    c[GY * n + GX] = count; }
}

KERNEL(tiny) { THREADS { c[BLOCK_X] = a[BLOCK_X] + 1; } }

KERNEL(dot) {
  SHARED(float, s, 256);
  THREADS { float total = 0; for (int i = GX; i < n; i += GRID_X * 256) total += a[i] * b[i]; s[TX] = total; } SYNC
  for (int step = 128; step > 0; step /= 2) { THREADS { if (TX < step) s[TX] += s[TX + step]; } SYNC }
  THREADS { if (TX == 0) c[BLOCK_X] = s[0]; }
}

KERNEL(options) {
  THREADS { int i = GX; if (i < n) { float spot = 20 + a[i], strike = 21 + b[i];
    float d = (LOG(spot / strike) + 0.04f) / 0.3f, k = 1 / (1 + 0.2316419f * FABS(d));
    float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * EXP(-0.5f * d * d) * p;
    c[i] = spot * (1 - tail) - strike * tail; } }
}

KERNEL(norm) {
  SHARED(float, s, 256); SHARED(float, q, 256);
  THREADS { float total = 0, squares = 0;
    for (int i = TX; i < n; i += 256) { total += a[BLOCK_X * n + i]; squares += a[BLOCK_X * n + i] * a[BLOCK_X * n + i]; }
    s[TX] = total; q[TX] = squares; } SYNC
  for (int step = 128; step > 0; step /= 2) { THREADS { if (TX < step) { s[TX] += s[TX + step]; q[TX] += q[TX + step]; } } SYNC }
  float mean = s[0] / n, scale = 1 / SQRT(q[0] / n - mean * mean + 1e-5f);
  THREADS { for (int i = TX; i < n; i += 256) c[BLOCK_X * n + i] = (a[BLOCK_X * n + i] - mean) * scale; }
}

KERNEL(sobel) {
  SHARED(float, s, 18 * 18);
  THREADS { for (int i = TY * 16 + TX; i < 18 * 18; i += 256) {
    int gx = MIN(MAX(BLOCK_X * 16 + i % 18 - 1, 0), n - 1), gy = MIN(MAX(BLOCK_Y * 16 + i / 18 - 1, 0), n - 1);
    s[i] = a[gy * n + gx]; } } SYNC
  THREADS { int p = TY * 18 + TX;
    float dx = s[p + 2] + 2 * s[p + 20] + s[p + 38] - s[p] - 2 * s[p + 18] - s[p + 36];
    float dy = s[p + 36] + 2 * s[p + 37] + s[p + 38] - s[p] - 2 * s[p + 1] - s[p + 2];
    c[GY * n + GX] = SQRT(dx * dx + dy * dy); }
}

KERNEL(early) {
  SHARED(float, s, 256);
  THREADS { if (GX < n - 50) s[TX] = a[GX]; } SYNC
  THREADS { if (GX < n - 50) c[GX] = GX < n - 64 ? s[TX] + s[TX ^ 1] : s[TX]; }
}

KERNEL(gather) { THREADS { c[GX] = a[((int)(b[GX] * 1000) * 7919 + GX) & (n - 1)]; } }
