/**
 * A client of a store: finds what waits for a person, answers it, steers and aborts, and carries nothing on.
 *
 * 1. It holds no lease and needs neither model nor tools: what it says is posted, and counts once whoever carries the session on takes it.
 * 2. It knows every session of the store by itself, children too: an answer to a child goes to the child's own session.
 */
import type { Answer } from "../core/event.js";
import type { InboxBody } from "../core/inbox.js";
import { approvalsOf, type PendingApproval } from "../core/outcome.js";
import { hasCalls, initialState, isResting, type SessionInfo, type State } from "../core/state.js";
import { PawlError } from "../errors.js";
import type { Clock, MakeId } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import type { Answers } from "./answer.js";
import { createAnswers } from "./answers.js";
import { checkedStore } from "./checked-store.js";
import { noSession } from "./given-out.js";
import { createFollower, followEntry, readEntries } from "./history.js";
import { type Input, messagesOf } from "./request.js";
import { makeRandomId, systemClock } from "./timers.js";

export type ClientOptions = {
  readonly store: Store;
  /** Real time, unless a test owns it. */
  readonly clock?: Clock;
  readonly makeId?: MakeId;
};

/** What waits, and where it comes from. */
export type OpenApproval = PendingApproval & {
  /** When it was asked for; epoch milliseconds. */
  readonly askedAt: number;
  /** The agent, the folder and the parent of its session. */
  readonly session: SessionInfo;
};

/** What was said to a call, or that nobody said anything in time. `by` is who decided, as the caller named them. */
export type GivenAnswer = {
  readonly type: Answer["type"] | "expired";
  readonly at: number;
  readonly by?: string;
  readonly note?: string;
};

export type ClientSession = Answers & {
  readonly id: string;
  /** The answer that counts for a call: the last one, where it was asked for more than once; null where there is none. */
  readonly answerTo: (callKey: string) => Promise<GivenAnswer | null>;
  /** Goes in before the next model call. @throws PawlError `no_session`, `run_finished` where no run is under way, `bad_input` */
  readonly steer: (input: Input) => Promise<void>;
  /** Asks for the end of the run under way; nothing happens where there is none. */
  readonly abort: (options?: { readonly note?: string; readonly by?: string }) => Promise<void>;
};

export type Client = {
  /** All that waits for a person, over all sessions, the one that changed last first. What was answered waits no more, also where nobody took it yet. */
  readonly pendingApprovals: () => AsyncGenerator<OpenApproval, void, undefined>;
  readonly session: (sessionId: string) => ClientSession;
};

/** Makes a client of a store. */
export function createClient(options: ClientOptions): Client {
  const store = checkedStore(options.store);
  const { clock = systemClock, makeId = makeRandomId } = options;
  return {
    pendingApprovals: () => allApprovals(store),
    session: (sessionId) => clientSession(sessionId, store, clock, makeId),
  };
}

/** Sessions that are listed at once. */
const pageSize = 500;

async function* allApprovals(store: Store): AsyncGenerator<OpenApproval, void, undefined> {
  let last: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  for (;;) {
    const page = await store.list({
      status: ["awaiting_human", "tool_running"],
      limit: pageSize,
      ...(last === undefined ? {} : { after: last }),
    });
    for (const { sessionId } of page) yield* await approvalsIn(store, sessionId);
    last = page.at(-1);
    if (page.length < pageSize) return;
  }
}

/** What waits in a session itself, as its log tells. */
async function approvalsIn(store: Store, sessionId: string): Promise<readonly OpenApproval[]> {
  const loaded = await store.load(sessionId);
  if (loaded === null || !hasSomethingOpen(loaded.state)) return [];
  const follower = createFollower(sessionId);
  const askedAt = new Map<string, number>();
  for await (const entry of readEntries(store, sessionId, 0))
    for (const event of followEntry(follower, entry))
      if (event.type === "approval_requested") askedAt.set(event.callKey, event.at);
  const { state, transcript } = follower;
  const { session } = state;
  if (session === null) return [];
  const answered = new Set((await store.inbox(sessionId)).map(({ body }) => ("callKey" in body ? body.callKey : null)));
  return approvalsOf(sessionId, state, transcript)
    .filter(({ callKey }) => !answered.has(callKey))
    .map((approval) => ({ ...approval, askedAt: askedAt.get(approval.callKey) ?? 0, session }));
}

function hasSomethingOpen(state: State): boolean {
  return (
    hasCalls(state) &&
    state.calls.some(({ at, ...call }) => at === "asking" || ("on" in call && call.on === "external"))
  );
}

function clientSession(id: string, store: Store, clock: Clock, makeId: MakeId): ClientSession {
  const load = async () => (await store.load(id))?.state ?? initialState;
  const post = async (messageId: string, body: InboxBody) => {
    const posted = await store.post(id, { id: messageId, at: clock.now(), body });
    return posted.type === "posted" ? "said" : "duplicate";
  };

  async function steer(input: Input): Promise<void> {
    const state = await load();
    const { session } = state;
    if (session === null) return noSession(id);
    if (isResting(state))
      throw new PawlError(
        "run_finished",
        `No run is under way in session ${id} (${state.status}): there is nothing to steer. Send it as the next request.`,
      );
    const runId = makeId();
    const said = {
      type: "input",
      mode: "steer",
      runId,
      input: messagesOf(input),
      limits: state.limits,
      session,
    } as const;
    await post(`run/${runId}`, said);
  }

  async function abort({ note, by }: { readonly note?: string; readonly by?: string } = {}): Promise<void> {
    const state = await load();
    if (isResting(state)) return;
    const said = { ...(note === undefined ? {} : { note }), ...(by === undefined ? {} : { by }) };
    await post(`abort/${makeId()}`, { type: "abort", runId: state.runId, ...said });
  }

  const answers = createAnswers(id, { store, family: { children: new Map() } }, post, abort);
  return { id, ...answers, answerTo: (callKey) => answerTo(store, id, callKey), steer, abort };
}

/** An answer is in the inbox until the session is carried on, and from then on in the log. */
async function answerTo(store: Store, sessionId: string, callKey: string): Promise<GivenAnswer | null> {
  let given: GivenAnswer | null = null;
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (event.type === "answered" && event.callKey === callKey) given = givenAnswer(event, event.at);
    if (event.type === "woke" && event.callKey === callKey) given = { type: "expired", at: event.at };
  }
  for (const { body, at } of await store.inbox(sessionId))
    if (body.type === "answer" && body.callKey === callKey) given = givenAnswer(body, at);
  return given;
}

function givenAnswer({ answer, by }: { readonly answer: Answer; readonly by?: string }, at: number): GivenAnswer {
  const note = "note" in answer ? answer.note : undefined;
  return { type: answer.type, at, ...(by === undefined ? {} : { by }), ...(note === undefined ? {} : { note }) };
}
