/**
 * Inlines the content of blobs in messages and outputs, because a case has no store.
 */
import type { FilePart, ToolOutput, UserMessage } from "../core/data/message.js";
import { blobOf, describeFile } from "../core/transcript/blob-references.js";
import { encodeBase64 } from "../platform/bytes.js";
import type { Store } from "../ports/store.js";

/** Files and outputs up to this size are inlined. Larger ones are described or truncated. */
const maxInlineBytes = 1024 * 1024;

/** Inlines an output's files and, if the output was truncated, its full text. */
export async function inlineOutput(output: ToolOutput, sessionId: string, store: Store): Promise<ToolOutput> {
  if (output.type === "json") return output;
  const { full } = output;
  if (full !== undefined && full.bytes <= maxInlineBytes) {
    const blob = await store.getBlob(sessionId, full.blob);
    if (blob !== null) return { type: "text", text: new TextDecoder().decode(blob) };
  }
  if (output.type === "text") return { type: "text", text: output.text };
  return { type: "content", parts: await inlineParts(output.parts, sessionId, store) };
}

export function inlineMessages(
  messages: readonly UserMessage[],
  sessionId: string,
  store: Store,
): Promise<readonly UserMessage[]> {
  return Promise.all(
    messages.map(async (message) => ({ ...message, parts: await inlineParts(message.parts, sessionId, store) })),
  );
}

type Part = UserMessage["parts"][number];

function inlineParts(parts: readonly Part[], sessionId: string, store: Store): Promise<readonly Part[]> {
  return Promise.all(parts.map((part) => (part.type === "file" ? inlineFile(part, sessionId, store) : part)));
}

/** Describes a file that is too large, so that the case file stays readable. */
async function inlineFile(file: FilePart, sessionId: string, store: Store): Promise<Part> {
  const hash = blobOf(file);
  if (hash === undefined) return file;
  const blob = await store.getBlob(sessionId, hash);
  if (blob !== null && blob.byteLength <= maxInlineBytes) return { ...file, data: encodeBase64(blob) };
  return { type: "text", text: `[a file that is not in the case: ${describeFile(file)}, SHA-256 ${hash}]` };
}
