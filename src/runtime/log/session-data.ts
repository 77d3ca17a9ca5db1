/**
 * The data of a session at a compaction: from the blob that the compaction names, or from the log before it.
 *
 * Changes between the first entry that is read and the compaction are in the blob already, and are folded once more. A
 * change sets or unsets whole keys, so this gives the same.
 */
import { freeze } from "../../core/data/freeze.js";
import { parseJson } from "../../core/data/json.js";
import { mostDataBytes, noData, type SessionData } from "../../core/data/session-data.js";
import { textOfBytes } from "../../core/data/text-bytes.js";
import type { State } from "../../core/machine/state.js";
import { appendEntry, createTranscript } from "../../core/transcript/transcript.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { readEntries } from "./read-entries.js";

export async function dataBefore(
  store: Pick<Store, "read" | "getBlob">,
  sessionId: string,
  { context: { dataBlob, readFrom } }: State,
): Promise<SessionData> {
  if (dataBlob === undefined) return noData;
  const bytes = await unlessDamaged(store.getBlob(sessionId, dataBlob));
  const parsed = bytes === null ? undefined : parseJson(textOfBytes(bytes), { maxBytes: mostDataBytes });
  if (parsed?.ok === true && isObject(parsed.value)) return freeze(parsed.value);
  return foldedData(store, sessionId, readFrom - 1);
}

/** The blob is lost. The log has every change, so its beginning says the same. */
async function foldedData(store: Pick<Store, "read">, sessionId: string, last: number): Promise<SessionData> {
  const transcript = createTranscript();
  for await (const entry of readEntries(store, sessionId, 0, last)) appendEntry(transcript, entry);
  return transcript.data;
}

async function unlessDamaged(reading: Promise<Uint8Array | null>): Promise<Uint8Array | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof PawlError && error.code === "store_corrupt") return null;
    throw error;
  }
}

function isObject(value: unknown): value is SessionData {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
