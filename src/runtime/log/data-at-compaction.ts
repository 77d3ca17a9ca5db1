/**
 * Loads the data of a session at a compaction: from the compaction's blob, or from the log before it.
 *
 * Changes between the first entry that is read and the compaction are already in the blob, and are applied a second time. A change sets or
 * unsets whole keys, so this is idempotent.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import { isObject } from "../../core/data/is-object.js";
import { parseJson } from "../../core/data/json.js";
import { emptyData, maxDataBytes, type SessionData } from "../../core/data/session-data.js";
import { decodeText } from "../../core/data/text-bytes.js";
import type { State } from "../../core/machine/state.js";
import { appendEntry, createTranscript } from "../../core/transcript/transcript.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { readEntries } from "./read-entries.js";

export async function loadDataAtCompaction(
  store: Pick<Store, "read" | "getBlob">,
  sessionId: string,
  { context: { dataBlob, readFrom } }: State,
): Promise<SessionData> {
  if (dataBlob === undefined) return emptyData;
  const bytes = await nullIfDamaged(store.getBlob(sessionId, dataBlob));
  const parsed = bytes === null ? undefined : parseJson(decodeText(bytes), { maxBytes: maxDataBytes });
  if (parsed?.ok === true && isObject(parsed.value)) return deepFreeze(parsed.value);
  return foldData(store, sessionId, readFrom - 1);
}

/** Rebuilds the data when the blob is lost: the log has every change from the beginning. */
async function foldData(store: Pick<Store, "read">, sessionId: string, last: number): Promise<SessionData> {
  const transcript = createTranscript();
  for await (const entry of readEntries(store, sessionId, 0, last)) appendEntry(transcript, entry);
  return transcript.data;
}

async function nullIfDamaged(pending: Promise<Uint8Array | null>): Promise<Uint8Array | null> {
  try {
    return await pending;
  } catch (error) {
    if (error instanceof PawlError && error.code === "store_corrupt") return null;
    throw error;
  }
}
