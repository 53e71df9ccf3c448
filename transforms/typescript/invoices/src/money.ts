// Amounts as bigints, in units of their scale.

import { parseDecimal } from "gristmill";

/** Digits behind the point. */
export const QUANTITY = 3;
export const PRICE = 4;
export const AMOUNT = 2;
export const RATE = 6;
/** Of a percentage. */
export const PERCENT = 2;

const GERMAN = /^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$/;

/** Reads `1.234,50` as its unscaled value; none where it is no such number or has more digits than the scale. */
export function parseGerman(text: string, scale: number): bigint | undefined {
  const trimmed = text.trim();
  return GERMAN.test(trimmed) ? parseDecimal(trimmed.replaceAll(".", "").replace(",", "."), scale) : undefined;
}

/** Drops digits behind the point, rounding half away from zero, as invoices do. */
export function round(unscaled: bigint, from: number, to: number): bigint {
  const unit = 10n ** BigInt(from - to);
  const half = unscaled < 0n ? -unit / 2n : unit / 2n;
  return (unscaled + half) / unit;
}
