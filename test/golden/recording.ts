/**
 * Recorded sessions: every row that a store was given, as JSON, and back into a store.
 */
import {
  askedAt,
  type Event,
  type EventType,
  type InboxMessage,
  initialState,
  type State,
} from "../../src/core/index.js";
import { signalWaits } from "../../src/core/machine/signal-waits.js";
import { createMemoryStore, type Store } from "../../src/index.js";
import { sha256 } from "../../src/platform/hash.js";
import type { Commit } from "../../src/ports/store.js";

export type RecordedRow = {
  readonly at: number;
  readonly activity: Commit["activity"];
  readonly dueAt: number | null;
  /** Ids of messages that count from here on: consumed, or said by the holder itself. */
  readonly taken: readonly string[];
  readonly events: readonly Event[];
  readonly state: State;
};

export type RecordedSession = {
  readonly sessionId: string;
  readonly rows: readonly RecordedRow[];
  readonly inbox: readonly InboxMessage[];
  /** What the log names by hash, as text. */
  readonly blobs: readonly string[];
};

export type Recording = { readonly about: string; readonly sessions: readonly RecordedSession[] };

/** A store in memory that keeps what it was given, row by row. */
export function createRecordingStore() {
  const store = createMemoryStore();
  const rows = new Map<string, RecordedRow[]>();
  const blobs = new Map<string, string[]>();
  const recording: Store = {
    ...store,
    async commit(lease, commit) {
      const result = await store.commit(lease, commit);
      if (result.type === "ok") {
        const { at, activity, dueAt, events, state, consume = [], record = [] } = commit;
        const row = structuredClone({ at, activity, dueAt, taken: [...consume, ...record], events, state });
        rows.set(lease.sessionId, [...(rows.get(lease.sessionId) ?? []), row]);
      }
      return result;
    },
    async redact(lease, redaction) {
      const result = await store.redact(lease, redaction);
      if (result.type !== "ok") return result;
      const { at, activity, dueAt, events, state } = redaction.commit;
      const changed = new Map(redaction.entries.map(({ seq, event }) => [seq, event]));
      const redacted = (rows.get(lease.sessionId) ?? []).map((row) => ({
        ...row,
        events: row.events.map((event, index) => changed.get(row.state.seq - row.events.length + index + 1) ?? event),
        state: redaction.state(row.state),
      }));
      rows.set(lease.sessionId, structuredClone([...redacted, { at, activity, dueAt, taken: [], events, state }]));
      const kept = (blobs.get(lease.sessionId) ?? []).filter(
        (text) => !redaction.removes(sha256(text), Buffer.from(text)),
      );
      blobs.set(lease.sessionId, kept);
      return result;
    },
    async putBlob(sessionId, bytes) {
      blobs.set(sessionId, [...(blobs.get(sessionId) ?? []), Buffer.from(bytes).toString()]);
      return store.putBlob(sessionId, bytes);
    },
  };

  async function sessions(): Promise<readonly RecordedSession[]> {
    const known = [...rows].map(async ([sessionId, recorded]) => ({
      sessionId,
      rows: recorded,
      inbox: await store.inbox(sessionId),
      blobs: [...new Set(blobs.get(sessionId))],
    }));
    // As any file has it: what is undefined is not there.
    return JSON.parse(JSON.stringify(await Promise.all(known)));
  }

  return { store: recording, sessions };
}

const loader = { id: "loader", host: "loader", pid: 1, startedAt: 0 };

/** Writes recorded sessions into a store, row by row. */
export async function loadInto(store: Store, { sessions }: Recording): Promise<void> {
  for (const { sessionId, rows, inbox, blobs } of sessions) {
    const first = rows[0]?.at ?? 0;
    const claimed = await store.claim(sessionId, { holder: loader, now: first, leaseMs: 1_000 });
    if (claimed.type !== "claimed") throw new Error(`${sessionId} is held`);
    for (const text of blobs) await store.putBlob(sessionId, Buffer.from(text));
    let seq = 0;
    for (const [index, { taken, ...row }] of rows.entries()) {
      const isLast = index === rows.length - 1;
      const written = await store.commit(claimed.lease, {
        ...row,
        expectedSeq: seq,
        askedAt: askedAt(row.state),
        record: taken,
        waits: signalWaits(row.state),
        ...(isLast ? { release: true } : {}),
      });
      if (written.type !== "ok") throw new Error(`row ${index + 1} of ${sessionId}: ${written.type}`);
      seq = written.seq;
    }
    for (const message of inbox) await store.post(sessionId, message);
  }
}

/** Members whose values tell kinds of things apart, and belong to the format. */
const kinds: ReadonlySet<string> = new Set([
  "type",
  "status",
  "activity",
  "at",
  "for",
  "purpose",
  "verdict",
  "recover",
  "why",
  "on",
  "outcome",
  "unified",
  "kind",
  "timer",
  "role",
  "mode",
  "cut",
  "v",
]);

/** Members that hold what is not ours to shape. */
const free: ReadonlySet<string> = new Set(["providerMetadata", "providerOptions", "value", "taken", "set", "params"]);

/** What recorded sessions show of the durable format: every member of every kind of event, state and message, and its type. */
export function formatOf(recordings: readonly Recording[]): readonly string[] {
  const found = new Set<string>();
  for (const { sessions } of recordings)
    for (const { rows, inbox } of sessions) {
      for (const { events, state } of rows) {
        for (const event of events) note(found, `event ${event.type}`, event);
        note(found, `state ${state.status}`, state);
      }
      for (const { body } of inbox) note(found, `message ${body.type}`, body);
    }
  return [...found].sort();
}

function note(found: Set<string>, path: string, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) note(found, `${path}[]`, item);
  if (Array.isArray(value) || typeof value !== "object" || value === null) {
    if (!Array.isArray(value)) found.add(`${path}: ${value === null ? "null" : typeof value}`);
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    const place = `${path}.${key}`;
    if (free.has(key) || isInput(path, key)) found.add(`${place}: any`);
    else if (kinds.has(key) && typeof member !== "number") found.add(`${place}: ${JSON.stringify(member)}`);
    else note(found, place, member);
  }
}

/** The input of a call is its tool's; that of a run is ours. */
function isInput(path: string, key: string): boolean {
  return key === "input" && /parts\[\]$|decision$|answer$/.test(path);
}

/** Types of events that recorded sessions have. */
export function eventTypesOf(recordings: readonly Recording[]): ReadonlySet<EventType> {
  return new Set(
    recordings.flatMap(({ sessions }) =>
      sessions.flatMap(({ rows }) => rows.flatMap(({ events }) => events.map((event) => event.type))),
    ),
  );
}

export function lastState({ rows }: RecordedSession): State {
  return rows.at(-1)?.state ?? initialState;
}
