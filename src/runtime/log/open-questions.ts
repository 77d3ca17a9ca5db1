/**
 * Reads which questions are open in a session and in the child sessions below it. This needs no agent and no lease.
 *
 * 1. A child session that is gone, damaged or written by a later version asks nothing: nobody could answer it here.
 * 2. Sessions of a family form a tree. A session that names itself as a child, at any depth, is not read again.
 */
import type { Calling } from "../../core/machine/calls.js";
import { advance } from "../../core/machine/consequences.js";
import type { Entry } from "../../core/machine/event.js";
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { childCallsOf } from "../../core/machine/parent.js";
import { asksOutside, hasCalls, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { type CallRecords, callRecords, recordEntry } from "../../core/transcript/call-records.js";
import type { ChildPlace, ChildQuestions } from "../../core/view/child-questions.js";
import { approvalsOf, type PendingApproval } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { type LogStore, readEntries } from "./read-entries.js";

type QuestionStore = LogStore & Pick<Store, "inbox">;

/** The sessions between the one that is read and the top, themselves included. */
type Above = ReadonlySet<string>;
const nothingAbove: Above = new Set();

/**
 * The questions that are open now, in call order; those of a child in the place of the call that waits for it. A question
 * whose answer is in an inbox is left out.
 */
export async function openQuestions(
  store: QuestionStore,
  sessionId: string,
  loaded: State,
  above = nothingAbove,
): Promise<readonly PendingApproval[]> {
  if (!hasCalls(loaded)) return [];
  const state = await stateAfterInbox(store, sessionId, loaded);
  const path = new Set(above).add(sessionId);
  const present = async (childId: string) => {
    const child = await store.load(childId);
    return child === null ? [] : openQuestions(store, childId, child.state, path);
  };
  return questionsIn(store, sessionId, { state, loaded }, path, present);
}

/**
 * The questions of the session alone, without those of child sessions. Those that are answered are left out.
 * @param hasInbox whether there may be messages in the inbox
 */
export async function ownQuestions(
  store: QuestionStore,
  sessionId: string,
  loaded: State,
  hasInbox: boolean,
): Promise<readonly PendingApproval[]> {
  if (!hasCalls(loaded) || !loaded.calls.some(asksItself)) return [];
  const state = hasInbox ? await stateAfterInbox(store, sessionId, loaded) : loaded;
  return approvalsOf(sessionId, state, { calls: await callsOf(store, sessionId, loaded) });
}

/** The questions that were open after an entry. */
async function questionsAt(
  store: LogStore,
  { childId, seq }: ChildPlace,
  above: Above,
): Promise<readonly PendingApproval[]> {
  const row = await store.loadAt(childId, seq);
  if (row === null) return [];
  let { state } = row;
  for await (const { event } of readEntries(store, childId, state.seq, seq)) state = transition(state, event);
  const path = new Set(above).add(childId);
  const earlier = async (id: string, at: number | undefined) =>
    at === undefined ? [] : questionsAt(store, { childId: id, seq: at }, path);
  return questionsIn(store, childId, { state, loaded: state }, path, earlier);
}

async function questionsIn(
  store: LogStore,
  sessionId: string,
  { state, loaded }: { readonly state: State; readonly loaded: State },
  path: Above,
  questionsOf: (childId: string, seq: number | undefined) => Promise<readonly PendingApproval[]>,
): Promise<readonly PendingApproval[]> {
  if (!hasCalls(state) || !hasCalls(loaded)) return [];
  const ofChildren = new Map<string, readonly PendingApproval[]>();
  for (const { childId, childSeq } of childCallsOf(state))
    if (!path.has(childId)) ofChildren.set(childId, await unlessUnreadable(() => questionsOf(childId, childSeq)));
  const calls = state.calls.some(asksItself) ? await callsOf(store, sessionId, loaded) : new Map();
  return approvalsOf(sessionId, state, { calls }, (childId) => ofChildren.get(childId) ?? []);
}

function asksItself(call: Calling["calls"][number]): boolean {
  if (call.status === "running") return call.held !== undefined;
  return asksOutside(call) && !(call.status === "waiting" && call.on === "child");
}

const unreadable: ReadonlySet<string> = new Set(["store_corrupt", "newer_format", "older_format"]);

/** Nothing, if this version cannot read the session. */
export async function unlessUnreadable<Approval>(
  read: () => Promise<readonly Approval[]>,
): Promise<readonly Approval[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PawlError && unreadable.has(error.code)) return [];
    throw error;
  }
}

/** Questions that were read, by their place. */
export type KnownQuestions = Map<string, readonly PendingApproval[]>;

/** Reads the questions of these places, unless they are known. */
export async function readQuestions(
  store: LogStore,
  known: KnownQuestions,
  places: readonly ChildPlace[],
): Promise<void> {
  for (const place of places) {
    const key = keyOf(place);
    if (!known.has(key)) known.set(key, await unlessUnreadable(() => questionsAt(store, place, nothingAbove)));
  }
}

/**
 * Reads what public events show of the children that a state or a message tells of. Must be done before a message is
 * taken. Undefined if there is nothing to read.
 */
export function readReported(
  store: LogStore,
  known: KnownQuestions,
  state: State,
  messages: readonly InboxMessage[],
): Promise<void> | undefined {
  const places = childCallsOf(state).flatMap(({ childId, childSeq: seq }) =>
    seq === undefined ? [] : [{ childId, seq }],
  );
  // A report that a child waits no more counts, too: what is open then is not new to the report after it.
  for (const { body } of messages) if (body.type === "child") places.push({ childId: body.childId, seq: body.seq });
  return places.every((place) => known.has(keyOf(place))) ? undefined : readQuestions(store, known, places);
}

export function questionsFrom(known: KnownQuestions): ChildQuestions {
  return (childId, seq) => (seq === undefined ? [] : (known.get(keyOf({ childId, seq })) ?? []));
}

function keyOf({ childId, seq }: ChildPlace): string {
  return `${seq} ${childId}`;
}

/** The state after the messages in the inbox: the next driver takes those first. */
async function stateAfterInbox(store: QuestionStore, sessionId: string, loaded: Calling): Promise<State> {
  let state: State = loaded;
  const defaults = { limits: loaded.limits, model: loaded.session?.model ?? "" };
  for (const message of await store.inbox(sessionId))
    for (const body of eventsOf(message, state, defaults)) state = advance(state, { ...body, at: message.at }).state;
  return state;
}

/** The calls of the present step, from the last entries of the log. */
async function callsOf(store: LogStore, sessionId: string, state: Calling): Promise<CallRecords> {
  let first = Math.min(...state.calls.map((call) => call.inputSeq));
  for (;;) {
    const entries = await store.read(sessionId, first - 1, state.seq - first + 1);
    const calls = callsIn(entries, state);
    if (calls !== undefined || first === 1) return calls ?? new Map();
    // The inputs of changed calls come after the model's message, so the message is further back.
    first = Math.max(1, first - 2 * (state.seq - first + 1));
  }
}

function callsIn(entries: readonly Entry[], { runId, modelCallIndex }: Calling): CallRecords | undefined {
  let calls: CallRecords | undefined;
  for (const entry of entries) {
    const { event } = entry;
    if (event.type === "model_finished" && event.runId === runId && event.modelCallIndex === modelCallIndex)
      calls = callRecords(runId, modelCallIndex, event.message);
    else if (calls !== undefined) recordEntry(calls, entry);
  }
  return calls;
}
