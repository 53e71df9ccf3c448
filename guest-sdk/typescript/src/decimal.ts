// Decimals as texts, and wide integers as 64-bit words.

/**
 * Reads a decimal such as `-12.50` as its unscaled value: 1250n for scale 2. None where the text is not one or has
 * more digits behind the point than the scale, other than zeros.
 */
export function parseDecimal(text: string, scale: number): bigint | undefined {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = ""] = match;
  if (whole === "" && fraction === "") return undefined;
  const kept = fraction.slice(0, Math.max(scale, 0));
  if (/[1-9]/.test(fraction.slice(kept.length))) return undefined;
  let unscaled = BigInt(whole + kept.padEnd(Math.max(scale, 0), "0"));
  if (scale < 0) {
    const unit = 10n ** BigInt(-scale);
    if (unscaled % unit !== 0n) return undefined;
    unscaled /= unit;
  }
  return sign === "-" ? -unscaled : unscaled;
}

/** Writes the decimal of an unscaled value: `12.50` for 1250n and scale 2. */
export function formatDecimal(unscaled: bigint, scale: number): string {
  if (scale <= 0) return (unscaled * 10n ** BigInt(-scale)).toString();
  const text = unscaled.toString();
  const sign = unscaled < 0n ? 1 : 0;
  if (text.length - sign > scale) return text.slice(0, -scale) + "." + text.slice(-scale);
  return (sign === 1 ? "-0." : "0.") + text.slice(sign).padStart(scale, "0");
}

/** Reads a signed integer of this many 64-bit words, least significant first. `words` shows the same as 32-bit ones. */
export function readWide(longs: BigInt64Array, words: Int32Array, i: number, width: number): bigint {
  const at = i * width;
  const sign = words[2 * at + 1]! >> 31;
  let word = 2 * at + 2;
  const end = 2 * (at + width);
  while (word < end && words[word] === sign) word++;
  if (word === end) return longs[at]!;
  let value = longs[at + width - 1]!;
  for (let long = at + width - 2; long >= at; long--) value = (value << 64n) | BigInt.asUintN(64, longs[long]!);
  return value;
}

/** Writes the low bits of an integer into this many 64-bit words, least significant first. */
export function writeWide(longs: BigInt64Array, i: number, width: number, value: bigint): void {
  const end = (i + 1) * width;
  for (let word = i * width; word < end; word++) {
    longs[word] = value;
    value >>= 64n;
  }
}

const POWERS: bigint[] = [];

/** Whether a decimal of this precision holds the unscaled value. */
export function fitsPrecision(unscaled: bigint, precision: number): boolean {
  const limit = (POWERS[precision] ??= 10n ** BigInt(precision));
  return unscaled < limit && -unscaled < limit;
}
