/**
 * Reads byte streams from untrusted sources, up to a size limit.
 */

/**
 * Reads a body to its end, and cancels it if reading stops early.
 * @param deadline rejects when reading must stop; the result rejects with the same error
 * @returns null if the body is longer than `maxBytes`
 * @throws whatever the stream or the deadline rejects with
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
