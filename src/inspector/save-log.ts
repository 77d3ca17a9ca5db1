/**
 * Saves the log of a session as a file: its public events, one line of JSON each.
 */
import type { PublicEvent } from "../index.js";
import type { Api } from "./api.js";

const pageSize = 500;

/**
 * Reads the log to its current end, and saves it as a download.
 * @param type only events of this type
 * @throws ApiError
 */
export async function saveLog(
  api: Api,
  sessionId: string,
  type: string | undefined,
  onCount: (events: number) => void,
): Promise<void> {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/events`;
  const chunks: string[] = [];
  let count = 0;
  for (let after: string | null = "0"; after !== null; ) {
    const loaded: EventPage = await api.get(path, { after, type, limit: pageSize });
    chunks.push(loaded.events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    count += loaded.events.length;
    onCount(count);
    after = loaded.next;
  }
  download(`${toFileName(sessionId)}${type === undefined ? "" : `-${type}`}.jsonl`, chunks);
}

type EventPage = { readonly events: readonly PublicEvent[]; readonly next: string | null };

/** An id may have characters that are invalid in file names. */
function toFileName(sessionId: string): string {
  return sessionId.replace(/[^\w-]/g, "_").slice(0, 100);
}

function download(name: string, chunks: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...chunks], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // By the time the file is being written, the browser has copied the data.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
