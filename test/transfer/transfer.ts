/**
 * Exports and imports in tests.
 */
import { createMemoryStore, exportSessions, importSessions, type Store } from "../../src/index.js";
import { createMessage, t0 } from "../../src/testing/conformance/bench.js";
import { presentRecordings } from "../golden/present.js";
import { loadInto } from "../golden/recording.js";

/** What the present code records. */
export const goldenRecordings = presentRecordings;

/** The whole export, as text. */
export async function exportToText(store: Store, sessionIds?: readonly string[]): Promise<string> {
  let text = "";
  for await (const line of exportSessions(store, sessionIds === undefined ? {} : { sessionIds })) text += line;
  return text;
}

export function importText(store: Store, text: string): ReturnType<typeof importSessions> {
  return importSessions(store, { read: () => splitBytes(text) });
}

/** In pieces that end anywhere: within lines, and within characters. */
export async function* splitBytes(text: string, length = 1_000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length);
}

export const getRecording = (name: string) => {
  const entry = goldenRecordings.find((candidate) => candidate.name === name);
  if (entry === undefined) throw new Error(`there is no golden log ${name}`);
  return entry.recording;
};

/** A store with a parent that waits for its child, a blob, and messages that were and were not consumed. */
export async function createSourceStore(): Promise<Store> {
  const source = createMemoryStore();
  await loadInto(source, getRecording("child-waiting"));
  const steering = getRecording("steering");
  const sessions = steering.sessions.map((session) => ({ ...session, sessionId: `steered ${session.sessionId}` }));
  await loadInto(source, { ...steering, sessions });
  await source.post("only-posted", createMessage("m", t0, "with \u0085 and \ud800"));
  return source;
}

/** After everything that recorded sessions wait for. */
export const farFuture = t0 * 2;
