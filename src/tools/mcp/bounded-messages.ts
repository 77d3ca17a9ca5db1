/**
 * Bounds what an MCP server may send over HTTP. The server is untrusted, and the MCP library buffers a message until it is complete.
 */

/** A message contains a whole result, for example a picture in base64. */
const maxMessageBytes = 32 * 1024 * 1024;

/** Returns a `fetch` whose responses fail if a message of theirs is too long: the body, or one event of a stream. */
export function boundMessages(fetchResponse: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await fetchResponse(input, init);
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
    const measure = isStream ? createEventMeasure() : createBodyMeasure();
    const bounded = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, controller) {
          if (measure(bytes) > maxMessageBytes)
            throw new Error(`it sent a message of more than ${maxMessageBytes / 1024 / 1024} MiB`);
          controller.enqueue(bytes);
        },
      }),
    );
    return new Response(bounded, { status, statusText, headers });
  };
}

/** Takes the next bytes, and returns the size of the message that they belong to, so far. */
type Measure = (bytes: Uint8Array) => number;

function createBodyMeasure(): Measure {
  let size = 0;
  return ({ byteLength }) => {
    size += byteLength;
    return size;
  };
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** An event ends with an empty line. Its lines end with LF or CR LF. */
function createEventMeasure(): Measure {
  let size = 0;
  let isLineEmpty = true;
  return (bytes) => {
    for (const byte of bytes) {
      size += 1;
      if (byte === lineFeed) {
        if (isLineEmpty) size = 0;
        isLineEmpty = true;
      } else if (byte !== carriageReturn) isLineEmpty = false;
    }
    return size;
  };
}
