/**
 * Reads which questions are open in a session and in its child sessions. This needs no agent and no lease.
 *
 * 1. A child session that is missing, damaged or written by a later version has no questions: they could not be answered
 *    here.
 * 2. Sessions of a family form a tree. A session that names itself as a child, at any depth, is not read again.
 */

import { findBackgroundChildren } from "../../core/machine/background-children.js";
import type { CallsState } from "../../core/machine/calls.js";
import { findChildCalls } from "../../core/machine/child-reports.js";
import { advance } from "../../core/machine/consequences.js";
import type { Entry } from "../../core/machine/event.js";
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { asksOutside, hasCalls, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { type CallRecords, createCallRecords, recordCallEntry } from "../../core/transcript/call-records.js";
import type { ChildPlace, ChildQuestions } from "../../core/view/child-questions.js";
import { approvalsOf, type PendingApproval } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { type LogStore, readEntries } from "./read-entries.js";

type QuestionStore = LogStore & Pick<Store, "inbox">;

/** The ids of the session and its ancestors. */
type AncestorIds = ReadonlySet<string>;
const noAncestors: AncestorIds = new Set();

/**
 * The questions that are open now, in call order. A child's questions take the position of the call that waits for the child; those of
 * children in the background come last. A question whose answer is in an inbox is omitted.
 */
export async function listOpenQuestions(
  store: QuestionStore,
  sessionId: string,
  loaded: State,
  ancestors = noAncestors,
): Promise<readonly PendingApproval[]> {
  const path = new Set(ancestors).add(sessionId);
  const questions = [...(await listRunQuestions(store, sessionId, loaded, ancestors))];
  for (const { childId } of findBackgroundChildren(loaded))
    if (!path.has(childId))
      questions.push(...(await emptyIfUnreadable(() => listPresentQuestions(store, childId, path))));
  return questions;
}

/** The same without those of children in the background: what the run waits for. */
export async function listRunQuestions(
  store: QuestionStore,
  sessionId: string,
  loaded: State,
  ancestors = noAncestors,
): Promise<readonly PendingApproval[]> {
  if (!hasCalls(loaded)) return [];
  const state = await applyInbox(store, sessionId, loaded);
  const path = new Set(ancestors).add(sessionId);
  const present = (childId: string) => listPresentQuestions(store, childId, path);
  return collectQuestions(store, sessionId, { state, loaded }, path, present);
}

async function listPresentQuestions(
  store: QuestionStore,
  childId: string,
  path: AncestorIds,
): Promise<readonly PendingApproval[]> {
  const child = await store.load(childId);
  return child === null ? [] : listOpenQuestions(store, childId, child.state, path);
}

/**
 * The open questions of the session itself, without those of child sessions.
 * @param hasInbox whether there may be messages in the inbox
 */
export async function listOwnQuestions(
  store: QuestionStore,
  sessionId: string,
  loaded: State,
  hasInbox: boolean,
): Promise<readonly PendingApproval[]> {
  if (!hasCalls(loaded) || !loaded.calls.some(hasOwnQuestion)) return [];
  const state = hasInbox ? await applyInbox(store, sessionId, loaded) : loaded;
  return approvalsOf(sessionId, state, { calls: await readCalls(store, sessionId, loaded) });
}

/** The questions that were open after an entry. */
async function listQuestionsAt(
  store: LogStore,
  { childId, seq }: ChildPlace,
  ancestors: AncestorIds,
): Promise<readonly PendingApproval[]> {
  const row = await store.loadAt(childId, seq);
  if (row === null) return [];
  let { state } = row;
  for await (const { event } of readEntries(store, childId, state.seq, seq)) state = transition(state, event);
  const path = new Set(ancestors).add(childId);
  const readEarlier = async (id: string, at: number | undefined) =>
    at === undefined ? [] : listQuestionsAt(store, { childId: id, seq: at }, path);
  return collectQuestions(store, childId, { state, loaded: state }, path, readEarlier);
}

async function collectQuestions(
  store: LogStore,
  sessionId: string,
  { state, loaded }: { readonly state: State; readonly loaded: State },
  path: AncestorIds,
  getQuestions: (childId: string, seq: number | undefined) => Promise<readonly PendingApproval[]>,
): Promise<readonly PendingApproval[]> {
  if (!hasCalls(state) || !hasCalls(loaded)) return [];
  const childQuestions = new Map<string, readonly PendingApproval[]>();
  for (const { childId, childSeq } of findChildCalls(state))
    if (!path.has(childId)) childQuestions.set(childId, await emptyIfUnreadable(() => getQuestions(childId, childSeq)));
  const calls = state.calls.some(hasOwnQuestion) ? await readCalls(store, sessionId, loaded) : new Map();
  return approvalsOf(sessionId, state, { calls }, (childId) => childQuestions.get(childId) ?? []);
}

function hasOwnQuestion(call: CallsState["calls"][number]): boolean {
  if (call.status === "running") return call.held !== undefined;
  return asksOutside(call) && !(call.status === "waiting" && call.on === "child");
}

const unreadable: ReadonlySet<string> = new Set(["store_corrupt", "newer_format", "older_format"]);

/** Empty if this version cannot read the session. */
export async function emptyIfUnreadable<Approval>(
  read: () => Promise<readonly Approval[]>,
): Promise<readonly Approval[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PawlError && unreadable.has(error.code)) return [];
    throw error;
  }
}

/** Questions that were read, by child session and entry. */
export type KnownQuestions = Map<string, readonly PendingApproval[]>;

/** Reads the questions at these entries of child sessions, unless they are known. */
export async function readQuestions(
  store: LogStore,
  known: KnownQuestions,
  reports: readonly ChildPlace[],
): Promise<void> {
  for (const report of reports) {
    const key = reportKey(report);
    if (!known.has(key)) known.set(key, await emptyIfUnreadable(() => listQuestionsAt(store, report, noAncestors)));
  }
}

/**
 * Reads the questions of children that a state or a message refers to, for public events. Call it before the messages are
 * consumed. Undefined if there is nothing to read.
 */
export function readReportedQuestions(
  store: LogStore,
  known: KnownQuestions,
  state: State,
  messages: readonly InboxMessage[],
): Promise<void> | undefined {
  const reports = findChildCalls(state).flatMap(({ childId, childSeq: seq }) =>
    seq === undefined ? [] : [{ childId, seq }],
  );
  // Also for a report that a child no longer waits: questions that are still open at that point are not new to the next report.
  for (const { body } of messages) if (body.type === "child") reports.push({ childId: body.childId, seq: body.seq });
  return reports.every((report) => known.has(reportKey(report))) ? undefined : readQuestions(store, known, reports);
}

export function createQuestionLookup(known: KnownQuestions): ChildQuestions {
  return (childId, seq) => (seq === undefined ? [] : (known.get(reportKey({ childId, seq })) ?? []));
}

function reportKey({ childId, seq }: ChildPlace): string {
  return `${seq} ${childId}`;
}

/** The state after the messages in the inbox, which the next driver consumes first. */
async function applyInbox(store: QuestionStore, sessionId: string, loaded: CallsState): Promise<State> {
  let state: State = loaded;
  const defaults = { limits: loaded.limits, model: loaded.session?.model ?? "" };
  for (const message of await store.inbox(sessionId))
    for (const body of eventsOf(message, state, defaults)) state = advance(state, { ...body, at: message.at }).state;
  return state;
}

/** The calls of the current step, from the last entries of the log. */
async function readCalls(store: LogStore, sessionId: string, state: CallsState): Promise<CallRecords> {
  let first = Math.min(...state.calls.map((call) => call.inputSeq));
  for (;;) {
    const entries = await store.read(sessionId, first - 1, state.seq - first + 1);
    const calls = collectCalls(entries, state);
    if (calls !== undefined || first === 1) return calls ?? new Map();
    // The inputs of changed calls come after the model's message, so the message is earlier in the log.
    first = Math.max(1, first - 2 * (state.seq - first + 1));
  }
}

function collectCalls(entries: readonly Entry[], { runId, modelCallIndex }: CallsState): CallRecords | undefined {
  let calls: CallRecords | undefined;
  for (const entry of entries) {
    const { event } = entry;
    if (event.type === "model_finished" && event.runId === runId && event.modelCallIndex === modelCallIndex)
      calls = createCallRecords(runId, modelCallIndex, event.message);
    else if (calls !== undefined) recordCallEntry(calls, entry);
  }
  return calls;
}
