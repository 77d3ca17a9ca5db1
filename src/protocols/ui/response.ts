/**
 * Chunks as the AI SDK's transport reads them: server-sent events, the UI message stream of version 1.
 */
import { PawlError } from "../../index.js";
import type { UiChunk } from "./chunks.js";

/** The headers of such a response. */
export const uiStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
} as const;

/**
 * The body of a response. It is read as fast as the client takes it. A client that leaves ends the chunks, and never the
 * run.
 */
export function uiStreamBody(chunks: AsyncGenerator<UiChunk, void, undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const frame = (data: string) => encoder.encode(`data: ${data}\n\n`);
  return new ReadableStream({
    async pull(controller) {
      try {
        const next = await chunks.next();
        if (next.done !== true) return controller.enqueue(frame(JSON.stringify(next.value)));
        controller.enqueue(frame("[DONE]"));
      } catch (error) {
        const errorText = error instanceof PawlError ? error.message : "The stream broke off. Load it again.";
        controller.enqueue(frame(JSON.stringify({ type: "error", errorText })));
      }
      controller.close();
    },
    async cancel() {
      await chunks.return();
    },
  });
}
