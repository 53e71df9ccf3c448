// Numbers that C has no type for, and numbers as texts.
#include <math.h>

#include "internal.h"

gm_int256 gm_int256_from(gm_int128 value) {
    uint64_t sign = value < 0 ? UINT64_MAX : 0;
    return (gm_int256){{(uint64_t)value, (uint64_t)(value >> 64), sign, sign}};
}

bool gm_int256_to_int128(gm_int256 value, gm_int128 *narrow) {
    uint64_t sign = value.words[1] >> 63 ? UINT64_MAX : 0;
    if (value.words[2] != sign || value.words[3] != sign) return false;
    *narrow = (gm_int128)((gm_uint128)value.words[1] << 64 | value.words[0]);
    return true;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

float gm_float16_to_float(uint16_t bits) {
    float sign = bits >> 15 ? -1.0f : 1.0f, fraction = (float)(bits & 0x3ff);
    int exponent = bits >> 10 & 0x1f;
    if (exponent == 0) return sign * fraction * 0x1p-24f;
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    // 2^(exponent - 25) by its bits.
    return sign * (1024.0f + fraction) * float_of((uint32_t)(exponent + 102) << 23);
}

uint16_t gm_float16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t magnitude = bits & 0x7fffffff, half;
    if (magnitude > 0x7f800000) {
        half = 0x7e00;
    } else if (magnitude >= 0x477ff000) {
        half = 0x7c00;  // 65520 and more round to infinity.
    } else if (magnitude < 0x38800000) {
        // Below the smallest normal half: adding 0.5 lines its steps of 2^-24 up with those of the sum.
        uint32_t sum;
        float lined_up = float_of(magnitude) + 0.5f;
        memcpy(&sum, &lined_up, 4);
        half = sum - 0x3f000000;
    } else {
        uint32_t rebased = magnitude - (112u << 23), odd = rebased >> 13 & 1;
        half = (rebased + 0xfff + odd) >> 13;
    }
    return (uint16_t)((bits >> 16 & 0x8000) | half);
}

/// Divides by 10^19 and returns the rest. 10^19 is 2^19 times 5^19, which leaves room for 19 bits a step in 64.
static uint64_t divide_by_ten_to_19(gm_uint128 *value) {
    const uint64_t five_to_19 = 19073486328125, bits = 19, mask = (1 << bits) - 1;
    uint64_t cut_off = (uint64_t)*value & mask, high = (uint64_t)(*value >> bits >> 64), low = (uint64_t)(*value >> bits);
    gm_uint128 quotient = (gm_uint128)(high / five_to_19) << 64;
    uint64_t rest = high % five_to_19;
    for (int shift = 64 - (int)bits; shift > 0; shift -= (int)bits) {
        uint64_t step = rest << bits | (low >> shift & mask);
        quotient |= (gm_uint128)(step / five_to_19) << shift;
        rest = step % five_to_19;
    }
    // 64 is three steps and 7 bits.
    uint64_t last = rest << 7 | (low & 0x7f);
    *value = quotient | last / five_to_19;
    return last % five_to_19 << bits | cut_off;
}

/// A number below 10^8 with leading zeros: all eight digits at once, each in its own byte.
static uint64_t eight_digits(uint32_t number) {
    uint64_t fours = number / 10000 | (uint64_t)(number % 10000) << 32;
    uint64_t hundreds = fours * 10486 >> 20 & 0x0000007f0000007f, twos = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000f, ones = tens | (twos - tens * 10) << 8;
    return ones | 0x3030303030303030;
}

/// Writes `count` digits, or without a count those that there are, before `end`; returns where they start.
static char *digits_before(char *end, uint64_t value, int count) {
    for (; count < 0 ? value >= 100000000 : count >= 8; count -= count < 0 ? 0 : 8, value /= 100000000) {
        uint64_t eight = eight_digits((uint32_t)(value % 100000000));
        memcpy(end -= 8, &eight, 8);
    }
    for (; count < 0 ? value >= 10 : count > 0; count -= count < 0 ? 0 : 1, value /= 10)
        *--end = (char)('0' + value % 10);
    if (count < 0) *--end = (char)('0' + value);
    return end;
}

void gm_text_append_int(gm_text_builder *builder, int64_t value) { gm_text_append_decimal(builder, value, 0); }

void gm_text_append_decimal(gm_text_builder *builder, gm_int128 value, int scale) {
    char text[40], *end = text + sizeof text;
    gm_uint128 left = value < 0 ? -(gm_uint128)value : (gm_uint128)value;
    char *start = end;
    while (left > UINT64_MAX) start = digits_before(start, divide_by_ten_to_19(&left), 19);
    start = digits_before(start, (uint64_t)left, -1);
    uint32_t len = (uint32_t)(end - start), behind = (uint32_t)MAX(scale, 0), zeros = (uint32_t)MAX(-scale, 0);
    // A number below one has zeros of its own.
    uint32_t leading = len <= behind ? behind + 1 - len : 0;
    char *to = gm_text_reserve(builder, 2 + leading + len + zeros), *from = to;
    if (value < 0) *to++ = '-';
    memset(to, '0', leading);
    memcpy(to + leading, start, len);
    to += leading + len;
    if (behind) {
        memmove(to - behind + 1, to - behind, behind);
        to[-(int)behind] = '.';
        to++;
    } else if (value != 0) {
        memset(to, '0', zeros);
        to += zeros;
    }
    builder->base.data_len += (uint32_t)(to - from);
}
