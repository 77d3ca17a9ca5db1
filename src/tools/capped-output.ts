/**
 * Collects the output of a process in bounded memory: only its beginning and its end are kept.
 */
export type CappedOutput = {
  add(bytes: Uint8Array): void;
  /**
   * The beginning and the end, with a note of how many bytes are left out between them. Invalid UTF-8 becomes U+FFFD.
   */
  text(): string;
};

/** @param maxBytes half for the beginning, half for the end; at most twice as much is in memory */
export function createCappedOutput(maxBytes: number): CappedOutput {
  const half = Math.max(1, Math.floor(maxBytes / 2));
  const head: Uint8Array[] = [];
  let tail: Uint8Array[] = [];
  let [headBytes, tailBytes, total] = [0, 0, 0];

  function addToTail(bytes: Uint8Array): void {
    tail.push(bytes.slice());
    tailBytes += bytes.length;
    if (tailBytes < 2 * half) return;
    const joined = Buffer.concat(tail);
    tail = [Buffer.from(joined.subarray(joined.length - half))];
    tailBytes = half;
  }

  return {
    add(bytes) {
      total += bytes.length;
      const toHead = bytes.subarray(0, half - headBytes);
      if (toHead.length > 0) head.push(toHead.slice());
      headBytes += toHead.length;
      if (toHead.length < bytes.length) addToTail(bytes.subarray(toHead.length));
    },
    text() {
      const beginning = Buffer.concat(head);
      const joined = Buffer.concat(tail);
      const end = joined.subarray(Math.max(0, joined.length - half));
      const omitted = total - beginning.length - end.length;
      if (omitted === 0) return Buffer.concat([beginning, end]).toString("utf8");
      return `${withoutCutEnd(beginning).toString("utf8")}\n[… ${omitted} bytes left out …]\n${withoutCutStart(end).toString("utf8")}`;
    },
  };
}

/** Drops a last character that the cut has split. */
function withoutCutEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return back < length ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function withoutCutStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start] ?? 0)) start += 1;
  return bytes.subarray(start);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
