import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  backoffSeconds,
  CallError,
  type Envelope,
  EnvelopeParser,
  readStream,
  toEnvelope,
} from "../src/api";

const decode = (envelope: Envelope): unknown =>
  JSON.parse(new TextDecoder().decode(envelope.data) || "{}");

function withFlags(message: unknown, flags: number): Uint8Array {
  const bytes = toEnvelope(message);
  bytes[0] = flags;
  return bytes;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

test("envelopes are found wherever the bytes are cut", () => {
  const messages = [{ a: 1 }, { text: "größer <script>" }, {}];
  const bytes = concat(messages.map(toEnvelope));
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const parser = new EnvelopeParser();
    const found = [...parser.push(bytes.subarray(0, cut)), ...parser.push(bytes.subarray(cut))];
    assert.deepEqual(found.map(decode), messages);
    assert.equal(parser.pending, false);
  }
});

test("envelopes are found byte by byte", () => {
  const parser = new EnvelopeParser();
  const found: Envelope[] = [];
  for (const byte of toEnvelope({ n: "x".repeat(300) })) {
    found.push(...parser.push(new Uint8Array([byte])));
  }
  assert.equal(found.length, 1);
});

test("an incomplete envelope stays pending", () => {
  const parser = new EnvelopeParser();
  assert.equal(parser.push(toEnvelope({ a: 1 }).subarray(0, 6)).length, 0);
  assert.equal(parser.pending, true);
});

test("an envelope that is too long is refused", () => {
  const parser = new EnvelopeParser(100);
  assert.throws(
    () => parser.push(new Uint8Array([0, 0xff, 0xff, 0xff, 0xff])),
    (error: CallError) => error.code === "resource_exhausted",
  );
});

test("a stream ends with its last envelope", async () => {
  const seen: unknown[] = [];
  await readStream(
    streamOf([toEnvelope({ n: 1 }), concat([toEnvelope({ n: 2 }), withFlags({}, 2)])]),
    (message) => seen.push(message),
  );
  assert.deepEqual(seen, [{ n: 1 }, { n: 2 }]);
});

test("the error of a stream keeps its code", async () => {
  const error = { code: "not_found", message: 'no campaign "x"' };
  await assert.rejects(
    readStream(streamOf([withFlags({ error }, 2)]), () => {}),
    (found: CallError) => found.code === "not_found" && !found.transient,
  );
});

test("a stream without an end is transient", async () => {
  await assert.rejects(
    readStream(streamOf([toEnvelope({ n: 1 })]), () => {}),
    (found: CallError) => found.code === "unavailable" && found.transient,
  );
});

test("attempts back off from 1 s to 30 s", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5, 50].map(backoffSeconds), [1, 2, 4, 8, 16, 30, 30]);
});

test("a compressed message is read like any other", async () => {
  const packed = gzipSync(JSON.stringify({ nodes: ["a"] }));
  const envelope = new Uint8Array(5 + packed.length);
  envelope[0] = 1;
  new DataView(envelope.buffer).setUint32(1, packed.length);
  envelope.set(packed, 5);
  const messages: unknown[] = [];
  await readStream(streamOf([envelope, withFlags({}, 2)]), (message) => messages.push(message));
  assert.deepEqual(messages, [{ nodes: ["a"] }]);
});
