// UTF-8 to and from strings, fast in engines without TextDecoder and without a compiler for hot loops: everything that
// touches each byte is done by a built-in function.

declare function atob(base64: string): string;
declare function btoa(binary: string): string;

/** Bytes as a string of one character for each byte. */
export const toBinary: (bytes: Uint8Array) => string = hasBase64()
  ? (bytes) => atob((bytes as unknown as Base64).toBase64())
  : toBinaryInPieces;

/** The bytes of a string that has one character for each byte. */
export const fromBinary: (binary: string) => Uint8Array = hasBase64()
  ? (binary) => (Uint8Array as unknown as FromBase64).fromBase64(btoa(binary))
  : fromBinaryInPieces;

interface Base64 {
  toBase64(): string;
}
interface FromBase64 {
  fromBase64(text: string): Uint8Array;
}

function hasBase64(): boolean {
  return "toBase64" in Uint8Array.prototype && "fromBase64" in Uint8Array && typeof atob === "function";
}

/** For engines without base64 on byte arrays. */
export function toBinaryInPieces(bytes: Uint8Array): string {
  // A call takes a limited number of arguments.
  const piece = 4096;
  let binary = "";
  for (let start = 0; start < bytes.length; start += piece) {
    binary += String.fromCharCode.apply(null, bytes.subarray(start, start + piece) as unknown as number[]);
  }
  return binary;
}

/** For engines without base64 on byte arrays. */
export function fromBinaryInPieces(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const NOT_ASCII = /[^\0-\x7f]/;

export function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text);
}

/** Whether no byte has its highest bit set. */
export function areAscii(bytes: Uint8Array): boolean {
  const whole = bytes.byteOffset % 4 === 0 ? bytes.length >> 5 : 0;
  const words = new Int32Array(bytes.buffer as ArrayBuffer, whole > 0 ? bytes.byteOffset : 0, whole * 8);
  let bits = 0;
  for (let i = 0, n = words.length; i < n; i += 8) {
    bits |=
      words[i]! | words[i + 1]! | words[i + 2]! | words[i + 3]! |
      words[i + 4]! | words[i + 5]! | words[i + 6]! | words[i + 7]!;
  }
  for (let i = whole * 32; i < bytes.length; i++) bits |= bytes[i]!;
  return (bits & 0x80808080) === 0;
}

/** Reads UTF-8 whose bytes are the characters of a string. Throws a URIError where they are not UTF-8. */
export function decodeBinary(binary: string): string {
  return isAscii(binary) ? binary : decodeURIComponent(escape(binary));
}

/** Writes UTF-8 as a string of one character for each byte. A lone surrogate becomes U+FFFD. */
export function encodeBinary(text: string): string {
  if (isAscii(text)) return text;
  try {
    return unescape(encodeURIComponent(text));
  } catch {
    return unescape(encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd")));
  }
}

/** Reads UTF-8. Throws a URIError where the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decodeBinary(toBinary(bytes));
}

/** Writes UTF-8. A lone surrogate becomes U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  return fromBinary(encodeBinary(text));
}

/** The bytes of a text in UTF-8, counted. */
export function utf8Length(text: string): number {
  return isAscii(text) ? text.length : encodeBinary(text).length;
}

/** A copy in which `A`–`Z` are `a`–`z`. All other bytes, thus all other letters, stay as they are. */
export function lowerAscii(bytes: Uint8Array): Uint8Array {
  const binary = toBinary(bytes);
  const lower = fromBinary(binary.toLowerCase());
  // Read as characters, the bytes from 0xC0 to 0xDE are capitals too. In UTF-8 they only start a character.
  for (let lead = 0xc0; lead <= 0xde; lead++) {
    for (let at = bytes.indexOf(lead); at >= 0; at = bytes.indexOf(lead, at + 1)) lower[at] = lead;
  }
  return lower;
}

/** A copy in which `a`–`z` are `A`–`Z`. All other bytes, thus all other letters, stay as they are. */
export function upperAscii(bytes: Uint8Array): Uint8Array {
  const binary = toBinary(bytes);
  if (areAscii(bytes)) return fromBinary(binary.toUpperCase());
  // Read as characters, some bytes beyond ASCII have capitals of two characters, or of more than a byte.
  return fromBinary(binary.replace(/[a-z]+/g, (run) => run.toUpperCase()));
}

