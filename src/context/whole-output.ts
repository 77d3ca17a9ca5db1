/**
 * The whole of an output that the log holds, cut or not: by the number of its entry.
 */

import type { ToolOutput } from "../core/data/message.js";
import { bytesOfText } from "../core/data/text-bytes.js";
import { blobOf, outputIn } from "../core/transcript/blob-references.js";
import { textOfOutput } from "../core/transcript/results.js";
import type { WholeOutput } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import { entryAt } from "./entry-at.js";

/** Null where the session has no output under this number, or it could not be kept. */
export async function wholeOutput(
  store: Pick<Store, "read" | "getBlob">,
  sessionId: string,
  seq: number,
): Promise<WholeOutput | null> {
  const entry = await entryAt(store, sessionId, seq);
  const output = entry === undefined ? undefined : outputIn(entry.event);
  if (output === undefined) return null;
  const { blob, mediaType } = placeOf(output);
  if (blob === undefined) return { bytes: bytesOfText(textOfOutput(output)), mediaType };
  const bytes = await store.getBlob(sessionId, blob);
  return bytes === null ? null : { bytes, mediaType };
}

type EntryPosition = { readonly blob?: string | undefined; readonly mediaType: string | null };

/** A text goes before the files beside it, and the first file before the others. */
function placeOf(output: ToolOutput): EntryPosition {
  if (output.type !== "json" && output.full !== undefined) return { blob: output.full.blob, mediaType: null };
  if (output.type !== "content") return { mediaType: null };
  const file = output.parts.find((part) => part.type === "file");
  const isOnlyFiles = output.parts.every((part) => part.type === "file");
  const blob = file === undefined ? undefined : blobOf(file);
  return isOnlyFiles && blob !== undefined ? { blob, mediaType: file?.mediaType ?? null } : { mediaType: null };
}
