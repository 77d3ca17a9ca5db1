/**
 * Reads streams of bytes from outside, up to a limit.
 */

/**
 * Reads a body to its end. Whatever is left is cancelled.
 * @param deadline rejects when reading must stop; the result rejects in the same way
 * @returns null if the body has more than `maxBytes`
 * @throws what the stream and the deadline reject with
 */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  deadline?: Promise<never>,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (body === null) return new Uint8Array(0);
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const read = reader.read();
      const { done, value } = await (deadline === undefined ? read : Promise.race([read, deadline]));
      if (done) return concatBytes(chunks, length);
      length += value.byteLength;
      if (length > maxBytes) break;
      chunks.push(value);
    }
  } catch (error) {
    void reader.cancel().catch(() => {});
    throw error;
  }
  void reader.cancel().catch(() => {});
  return null;
}

function concatBytes(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only?.buffer instanceof ArrayBuffer) return only as Uint8Array<ArrayBuffer>;
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
