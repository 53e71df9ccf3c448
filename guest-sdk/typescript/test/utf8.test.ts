import assert from "node:assert/strict";
import test from "node:test";
import {
  areAscii, decodeUtf8, encodeUtf8, fromBinary, fromBinaryInPieces, lowerAscii, toBinary, toBinaryInPieces, upperAscii,
  utf8Length,
} from "../src/utf8.ts";

const texts = ["", "plain", "é", "Grüße", "Ωmega ΑΒΓ", "日本語", "😀 emoji", "\0nul\x7f", "x".repeat(10_000), "ß".repeat(5_000)];

test("UTF-8 is what the platform's own encoder makes", () => {
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text);
    assert.deepEqual(encodeUtf8(text), bytes);
    assert.equal(decodeUtf8(bytes), text);
    assert.equal(utf8Length(text), bytes.length);
  }
});

test("a lone surrogate becomes U+FFFD", () => {
  assert.equal(decodeUtf8(encodeUtf8("a\ud800b")), "a\ufffdb");
});

test("what is not UTF-8 is an error", () => {
  for (const bytes of [[0x80], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xff], [0xf4, 0x90, 0x80, 0x80]]) {
    assert.throws(() => decodeUtf8(Uint8Array.from(bytes)), URIError);
  }
});

test("bytes and binary strings, with and without base64", () => {
  const all = Uint8Array.from({ length: 70_000 }, (_, i) => i & 0xff);
  for (const [to, from] of [[toBinary, fromBinary], [toBinaryInPieces, fromBinaryInPieces]] as const) {
    const binary = to(all);
    assert.equal(binary.length, all.length);
    assert.equal(binary.charCodeAt(200), 200);
    assert.deepEqual(from(binary), all);
  }
});

test("only ASCII letters change case", () => {
  const every = Uint8Array.from({ length: 256 }, (_, i) => i);
  const lower = every.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte));
  const upper = every.map((byte) => (byte >= 0x61 && byte <= 0x7a ? byte - 32 : byte));
  assert.deepEqual(lowerAscii(every), lower);
  assert.deepEqual(upperAscii(every), upper);
  assert.equal(decodeUtf8(lowerAscii(encodeUtf8("ÉCOLE İstanbul ẞ"))), "École İstanbul ẞ");
  assert.equal(decodeUtf8(upperAscii(encodeUtf8("plain"))), "PLAIN");
});

test("bytes beyond ASCII are found wherever they are", () => {
  for (const length of [0, 1, 31, 32, 33, 100]) {
    const bytes = new Uint8Array(length + 4).fill(65);
    for (const start of [0, 1]) {
      const part = bytes.subarray(start, start + length);
      assert.equal(areAscii(part), true);
      for (let at = 0; at < length; at++) {
        part[at] = 0x80;
        assert.equal(areAscii(part), false, `${at} of ${length}`);
        part[at] = 65;
      }
    }
  }
});
