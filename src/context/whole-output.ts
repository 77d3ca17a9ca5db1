/**
 * Reads a tool's full output by the number of its log entry.
 */

import type { ToolOutput } from "../core/data/message.js";
import { encodeText } from "../core/data/text-bytes.js";
import { blobOf, outputIn } from "../core/transcript/blob-references.js";
import { textOfOutput } from "../core/transcript/results.js";
import type { WholeOutput } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import { readEntry } from "./read-entry.js";

/** Null if the session has no output with this number, or if the store failed to store it. */
export async function readWholeOutput(
  store: Pick<Store, "read" | "getBlob">,
  sessionId: string,
  seq: number,
): Promise<WholeOutput | null> {
  const entry = await readEntry(store, sessionId, seq);
  const output = entry === undefined ? undefined : outputIn(entry.event);
  if (output === undefined) return null;
  const { blob, mediaType } = findOutputSource(output);
  if (blob === undefined) return { bytes: encodeText(textOfOutput(output)), mediaType };
  const bytes = await store.getBlob(sessionId, blob);
  return bytes === null ? null : { bytes, mediaType };
}

/** The location of an output. Without a blob, the entry itself holds the output. */
type OutputSource = { readonly blob?: string | undefined; readonly mediaType: string | null };

/** Finds the location. Text takes precedence over files in the same output, and the first file over later ones. */
function findOutputSource(output: ToolOutput): OutputSource {
  if (output.type !== "json" && output.full !== undefined) return { blob: output.full.blob, mediaType: null };
  if (output.type !== "content") return { mediaType: null };
  const file = output.parts.find((part) => part.type === "file");
  const isOnlyFiles = output.parts.every((part) => part.type === "file");
  const blob = file === undefined ? undefined : blobOf(file);
  return isOnlyFiles && blob !== undefined ? { blob, mediaType: file?.mediaType ?? null } : { mediaType: null };
}
