/**
 * A client of a store: answers, steers and aborts the sessions in it, and carries none on.
 *
 * 1. It holds no lease and needs neither model nor tools: what it says is posted, and counts once whoever carries the session on takes it.
 * 2. It speaks to each session by itself: an answer to a child's call goes to the child's own session.
 */

import { servicesOf } from "../../context/services.js";
import type { Answer } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { initialState, isResting } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import type { Answers } from "../agent/answer-types.js";
import { type Input, messagesOf } from "../agent/run-input.js";
import { makeRandomId, systemClock } from "../lib/clock.js";
import { checkedStore } from "../log/checked-store.js";
import { throwNoSession } from "../log/driver-errors.js";
import { readEntries } from "../log/read-log.js";
import { createAnswers } from "./answers.js";
import { checkWords } from "./check-answer.js";

export type ClientOptions = {
  readonly store: Store;
  /** Real time, unless a test owns it. */
  readonly clock?: Clock;
  readonly makeId?: MakeId;
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
  readonly session: (sessionId: string) => ClientSession;
};

/** Makes a client of a store. `pendingApprovals(store)` lists what there is to answer. */
export function createClient(options: ClientOptions): Client {
  const store = checkedStore(options.store);
  const { clock = systemClock, makeId = makeRandomId } = options;
  return {
    session: (sessionId) => clientSession(sessionId, store, clock, makeId),
  };
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
    if (session === null) return throwNoSession(id);
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
    checkWords({ note, by });
    const state = await load();
    if (isResting(state)) return;
    const said = { ...(note === undefined ? {} : { note }), ...(by === undefined ? {} : { by }) };
    await post(`abort/${makeId()}`, { type: "abort", runId: state.runId, ...said });
  }

  const parts = { store, clock, family: { children: new Map() }, tools: new Map(), services: servicesOf(store) };
  const answers = createAnswers(id, parts, post, abort);
  return { id, ...answers, answerTo: (callKey) => answerTo(store, id, callKey), steer, abort };
}

/** An answer is in the inbox until the session is carried on, and from then on in the log. */
async function answerTo(store: Store, sessionId: string, callKey: string): Promise<GivenAnswer | null> {
  let given: GivenAnswer | null = null;
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (event.type === "answered" && event.callKey === callKey) given = givenAnswer(event, event.at);
    if (event.type === "timer_fired" && event.callKey === callKey) given = { type: "expired", at: event.at };
  }
  for (const { body, at } of await store.inbox(sessionId))
    if (body.type === "answer" && body.callKey === callKey) given = givenAnswer(body, at);
  return given;
}

function givenAnswer({ answer, by }: { readonly answer: Answer; readonly by?: string }, at: number): GivenAnswer {
  const note = "note" in answer ? answer.note : undefined;
  return { type: answer.type, at, ...(by === undefined ? {} : { by }), ...(note === undefined ? {} : { note }) };
}
