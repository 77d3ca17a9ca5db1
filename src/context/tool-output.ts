/**
 * Large outputs: kept whole in the store, cut for the model.
 */
import type { ToolOutput } from "../core/message.js";
import { textOfOutput } from "../core/results.js";
import type { Store } from "../ports/store.js";

/** Bytes of a result that a model is shown. */
export const defaultMaxOutputBytes = 50 * 1024;

export type CapOptions = { readonly sessionId: string; readonly store: Store; readonly maxBytes?: number };

/**
 * The output as it is where it is small enough. Otherwise the whole is kept as a blob, and the model sees its head and its
 * tail, by whole lines, with the blob's name between them. A store that fails costs the middle, never the call.
 */
export async function capOutput(
  output: ToolOutput,
  { sessionId, store, maxBytes = defaultMaxOutputBytes }: CapOptions,
): Promise<ToolOutput> {
  if (output.type === "text" && output.text.length * 3 <= maxBytes) return output;
  if (output.type === "content" && output.parts.some((part) => part.type === "file")) return output;
  const text = textOfOutput(output);
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= maxBytes) return output;
  const kept = await store.putBlob(sessionId, bytes).then(
    (hash) => `the whole output is kept as ${hash}`,
    () => "the rest could not be kept",
  );
  const head = wholeLines(bytes.subarray(0, Math.floor(maxBytes / 2)), "head");
  const tail = wholeLines(bytes.subarray(bytes.length - Math.floor(maxBytes / 2)), "tail");
  const left = bytes.length - Buffer.byteLength(head) - Buffer.byteLength(tail);
  return { type: "text", text: `${head}\n[… ${left} of ${bytes.length} bytes left out here; ${kept} …]\n${tail}` };
}

/** Cuts at a line where there is one in the nearer half, otherwise at a whole character. */
function wholeLines(bytes: Buffer, end: "head" | "tail"): string {
  const text = bytes.toString("utf8");
  const clean = end === "head" ? text.replace(/\uFFFD+$/, "") : text.replace(/^\uFFFD+/, "");
  const line = end === "head" ? clean.lastIndexOf("\n") : clean.indexOf("\n");
  if (line === -1) return clean;
  if (end === "head") return line > clean.length / 2 ? clean.slice(0, line) : clean;
  return line < clean.length / 2 ? clean.slice(line + 1) : clean;
}
