/**
 * Chunks as the AI SDK's transport reads them: the UI message stream, version 1.
 */
import { sseBody, sseHeaders } from "../sse.js";
import type { UiChunk } from "./chunks.js";

/** The headers of such a response. */
export const uiStreamHeaders = { ...sseHeaders, "x-vercel-ai-ui-message-stream": "v1" } as const;

export function uiStreamBody(chunks: AsyncGenerator<UiChunk, void, undefined>): ReadableStream<Uint8Array> {
  return sseBody(chunks, { failure: (errorText) => ({ type: "error", errorText }), end: "[DONE]" });
}
