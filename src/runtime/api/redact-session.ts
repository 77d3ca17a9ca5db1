/**
 * Removes content from the log of a session at rest, and from its blobs.
 *
 * 1. The lease is held meanwhile, so no other process writes. Everything is written in one transaction: the entry that records the
 *    redaction, the changed entries, their states, and the removal of blobs.
 * 2. The removed content is in no message and no new entry: it never leaves this process.
 * 3. New blobs are written first. If the process ends in between, they are left over, but contain nothing of the removed content.
 */
import { callKeyOf } from "../../core/data/call-key.js";
import { mask, minSecretLength } from "../../core/data/mask.js";
import { type Json, type Message, toolCallsOf } from "../../core/data/message.js";
import { advance } from "../../core/machine/consequences.js";
import { dueAt, effects } from "../../core/machine/effects.js";
import type { Entry, Event, EventOf } from "../../core/machine/event.js";
import { activityOf, isResting, type State } from "../../core/machine/state.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import {
  type ReplacedBlob,
  type Replacement,
  redactEvent,
  redactMessage,
  redactState,
} from "../../core/transcript/redact-event.js";
import { askedAt } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import { createHolder } from "../../platform/holder.js";
import type { Clock } from "../../ports/clock.js";
import type { Lease, Store } from "../../ports/store.js";
import { hashInput } from "../lib/hash.js";
import { releaseLease, throwNoSession } from "../log/driver-errors.js";
import { readEntries } from "../log/read-entries.js";
import { createTextRemoval, createWholeRemoval, type ReplacedBytes } from "./content-removal.js";

/** What to remove from a session. */
export type RedactionTarget = {
  /** These strings, wherever they occur. */
  readonly texts: readonly string[];
  /** All content of these entries. */
  readonly seqs: ReadonlySet<number>;
  /** All content of these calls. */
  readonly callKeys: ReadonlySet<string>;
};

/** Who requested the redaction, and why. */
export type RedactionReason = { readonly by?: string; readonly note?: string };

export type RedactionSummary = {
  /** The entry that records the redaction; null if no entry had anything to remove. */
  readonly seq: number | null;
  /** The entries whose content was replaced. */
  readonly entries: readonly number[];
  /** How many blobs were removed. */
  readonly blobs: number;
};

type RedactionDeps = { readonly store: Store; readonly clock: Clock };

/** The length of the lease, in milliseconds. It is renewed after a third of that time. */
const leaseMs = 60_000;
/** The maximum number of entries that one event lists, because an event has at most 1 MiB. */
const maxListed = 10_000;

/** @throws PawlError `no_session`; `session_busy` unless the session is at rest; `bad_input`, `store_failed` */
export async function redactSession(
  { store, clock }: RedactionDeps,
  sessionId: string,
  target: RedactionTarget,
  reason: RedactionReason,
): Promise<RedactionSummary> {
  if ((await store.load(sessionId)) === null) return throwNoSession(sessionId);
  const claimed = await store.claim(sessionId, { holder: createHolder(), now: clock.now(), leaseMs });
  if (claimed.type === "held") throw notAtRestError(sessionId);
  const { lease, state } = claimed;
  const stopRenewing = keepRenewing({ store, clock }, lease);
  try {
    if (state === null) return throwNoSession(sessionId);
    if (!isAtRest(state) || (await store.inbox(sessionId)).length > 0) throw notAtRestError(sessionId);
    return await redactAtRest({ store, clock }, lease, state, target, reason);
  } finally {
    stopRenewing();
    await releaseLease(store, lease);
  }
}

/**
 * Renews the lease with a timer: one entry may refer to large blobs, and the store may take a long time to write. If the lease is lost, the
 * store refuses the redaction.
 */
function keepRenewing({ store, clock }: RedactionDeps, lease: Lease): () => void {
  let isOver = false;
  let cancel = () => {};
  const renewLater = (): void => {
    if (!isOver) cancel = clock.after(leaseMs / 3, () => void renew());
  };
  async function renew(): Promise<void> {
    await store.renew([lease], clock.now(), leaseMs).catch(() => {});
    renewLater();
  }
  renewLater();
  return () => {
    isOver = true;
    cancel();
  };
}

function isAtRest(state: State): boolean {
  return isResting(state) && effects(state).length === 0 && dueAt(state) === null;
}

function notAtRestError(sessionId: string): PawlError {
  return new PawlError(
    "session_busy",
    `Session ${sessionId} is not at rest, so nothing was redacted: a run would continue with the content that it has in memory. Wait for the run to end, or abort it, and then redact.`,
  );
}

async function redactAtRest(
  { store, clock }: RedactionDeps,
  lease: Lease,
  state: State,
  target: RedactionTarget,
  { by, note }: RedactionReason,
): Promise<RedactionSummary> {
  const scan = await createRedactionScan(store, lease.sessionId, state.seq, target);
  const changed: Entry[] = [];
  const recordSeq = state.seq + 1;
  for await (const entry of readEntries(store, lease.sessionId, 0, state.seq)) {
    const event = await scan.redacted(entry);
    if (event !== entry.event) changed.push({ seq: entry.seq, event: { ...event, redacted: recordSeq } });
  }
  // An orphaned blob may also contain the content: a process may have ended before its log referred to the blob.
  const removedBlobs = new Set<string>();
  const removes = (hash: string, bytes: Uint8Array): boolean => {
    const isRemoved = scan.removes(hash, bytes);
    if (isRemoved) removedBlobs.add(hash);
    return isRemoved;
  };
  const entries = changed.map(({ seq }) => seq);
  const recorded = createRedactionEvents(
    entries,
    { ...(by === undefined ? {} : { by }), ...(note === undefined ? {} : { note }) },
    clock.now(),
  );
  let newState = redactState(state, scan.elsewhere);
  for (const event of recorded) newState = advance(newState, event).state;
  // If the target has strings, the store checks every blob, even if no entry contains one of them.
  if (entries.length === 0 && target.texts.length === 0) return { seq: null, entries, blobs: 0 };
  const result = await store.redact(lease, {
    commit: {
      expectedSeq: state.seq,
      events: recorded,
      state: newState,
      at: clock.now(),
      activity: activityOf(newState),
      dueAt: dueAt(newState),
      askedAt: askedAt(newState),
    },
    entries: changed,
    state: (one) => redactState(one, scan.elsewhere),
    removes,
  });
  if (result.type !== "ok")
    throw new PawlError(
      "store_failed",
      `Session ${lease.sessionId} was not redacted (${result.type}): nothing was changed. Retry.`,
    );
  return { seq: entries.length === 0 ? null : newState.seq, entries, blobs: removedBlobs.size };
}

function createRedactionEvents(entries: readonly number[], reason: RedactionReason, at: number): readonly Event[] {
  const events: Event[] = [];
  for (let from = 0; from < entries.length; from += maxListed)
    events.push({ type: "content_redacted", entries: entries.slice(from, from + maxListed), ...reason, at });
  return events;
}

/** Replaces blobs, and records their replacements. */
function createBlobReplacer(store: Store, sessionId: string) {
  const blobs = new Map<string, ReplacedBlob>();
  return {
    blobs,
    async replace(hash: string, change: (bytes: Uint8Array) => ReplacedBytes | null): Promise<void> {
      const bytes = await store.getBlob(sessionId, hash);
      const changed = bytes === null ? null : change(bytes);
      if (changed === null) return;
      const { isErasureMark } = changed;
      blobs.set(hash, {
        hash: await store.putBlob(sessionId, changed.bytes),
        bytes: changed.bytes.length,
        isErased: isErasureMark,
      });
    },
  };
}

/**
 * Prepares the changes of one log. Entries and calls that are removed as a whole are scanned first: other entries may refer
 * to the same blobs, and a title repeats the first words of a request.
 */
async function createRedactionScan(store: Store, sessionId: string, last: number, target: RedactionTarget) {
  const { blobs, replace } = createBlobReplacer(store, sessionId);
  const shared = { blobs, hashes: new Map<string, string>(), hashInput };
  const removedTexts: string[] = [];
  const textRemoval = createTextRemoval(target.texts);
  const wholeRemoval: Replacement = { ...createWholeRemoval((text) => removedTexts.push(oneLine(text))), ...shared };
  const elsewhere: Replacement = {
    ...textRemoval,
    text: (text, field) =>
      repeatingFields.has(field) && repeatsRemoved(text, removedTexts) ? mask : textRemoval.text(text, field),
    ...shared,
  };
  const seen = new Set<string>();
  const missing = new Set([...[...target.seqs].map(String), ...target.callKeys]);

  function redactWhole({ seq, event }: Entry): Event {
    if (target.seqs.has(seq)) return redactEvent(event, wholeRemoval);
    if (event.type === "model_finished")
      return findPositions(event, target.callKeys).reduce<Event>(
        (one, position) => redactEvent(one, wholeRemoval, position),
        event,
      );
    return belongsToCall(event, target.callKeys) ? redactEvent(event, wholeRemoval) : event;
  }

  async function scanWhole({ seq, event }: Entry): Promise<void> {
    missing.delete(String(seq));
    if (event.type === "model_finished")
      for (const position of findPositions(event, target.callKeys))
        missing.delete(callKeyOf(event.runId, event.modelCallIndex, position));
    if (!target.seqs.has(seq) && !belongsToCall(event, target.callKeys)) return;
    for (const hash of listTextBlobs(event))
      await replace(hash, () => ({ bytes: encoder.encode(mask), isErasureMark: true }));
    for (const hash of listJsonBlobs(event)) await replace(hash, () => toJsonBytes(mask));
    for (const hash of listMessageBlobs(event))
      await replace(hash, (bytes) => toJsonBytes(redactMessage(parseMessage(bytes), wholeRemoval)));
  }

  if (missing.size > 0) {
    for await (const entry of readEntries(store, sessionId, 0, last)) {
      await scanWhole(entry);
      redactWhole(entry);
    }
    const [first] = missing;
    if (first !== undefined)
      throw new PawlError(
        "bad_input",
        `Session ${sessionId} has no entry or call ${JSON.stringify(first)}; its last entry is ${last}. Nothing was redacted.`,
      );
  }
  return {
    /** The replacement for the rest of the session: for states, and for entries that the target does not name. */
    elsewhere,
    async redacted(entry: Entry): Promise<Event> {
      const event = redactWhole(entry);
      for (const hash of blobsOf(event))
        if (target.texts.length > 0 && !seen.has(hash)) {
          seen.add(hash);
          await replace(hash, textRemoval.bytes);
        }
      return redactEvent(event, elsewhere);
    },
    removes: (hash: string, bytes: Uint8Array): boolean => blobs.has(hash) || textRemoval.bytes(bytes) !== null,
  };
}

const encoder = new TextEncoder();

function toJsonBytes(value: Json | Message): ReplacedBytes {
  return { bytes: encoder.encode(JSON.stringify(value)), isErasureMark: false };
}

function parseMessage(bytes: Uint8Array): Message {
  return JSON.parse(new TextDecoder().decode(bytes)) as Message;
}

/** The fields that repeat content of other entries: the title of a session, and the message of a fault. */
const repeatingFields: ReadonlySet<string> = new Set(["title", "message"]);

/**
 * Whether a string repeats a removed string, or its beginning: a title has the first words of a request.
 * @param removedTexts each in one line
 */
function repeatsRemoved(text: string, removedTexts: readonly string[]): boolean {
  if (removedTexts.length === 0 || text.length < minSecretLength) return false;
  const words = oneLine(text.endsWith("…") ? text.slice(0, -1) : text);
  return removedTexts.some((one) => one.startsWith(words));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function belongsToCall(event: Event, callKeys: ReadonlySet<string>): boolean {
  return "callKey" in event && event.callKey !== undefined && callKeys.has(event.callKey);
}

/** The positions of these calls in a message. */
function findPositions(event: EventOf<"model_finished">, callKeys: ReadonlySet<string>): readonly number[] {
  if (callKeys.size === 0) return [];
  return toolCallsOf(event.message).flatMap((_, index) =>
    callKeys.has(callKeyOf(event.runId, event.modelCallIndex, index + 1)) ? [index + 1] : [],
  );
}

/** The blobs with text or files: all blobs of an event, except those with another format. */
function listTextBlobs(event: Event): readonly string[] {
  const others = new Set([...listJsonBlobs(event), ...listMessageBlobs(event)]);
  if (event.type === "prepared" && event.toolsHash != null) others.add(event.toolsHash);
  if (event.type === "compacted" && event.dataBlob !== undefined) others.add(event.dataBlob);
  return blobsOf(event).filter((hash) => !others.has(hash));
}

function listJsonBlobs(event: Event): readonly string[] {
  return event.type === "tool_step_finished" && event.valueBlob !== undefined ? [event.valueBlob.blob] : [];
}

function listMessageBlobs(event: Event): readonly string[] {
  if (event.type !== "prepared" && event.type !== "handed_off") return [];
  return (event.messages ?? []).flatMap((ref) => ("blob" in ref ? [ref.blob] : []));
}
