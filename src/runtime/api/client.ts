/**
 * A client of a store: answers, steers and aborts the sessions in it, and drives none.
 *
 * 1. A client holds no lease, and needs neither model nor tools. It posts messages, which the driver of the session
 *    takes.
 * 2. A client may answer a child's call in the child session or in a session above it.
 */

import { aFunction, anObject, checkOptions, type OptionTable } from "../../check-options.js";
import { servicesOf } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import { freeze } from "../../core/data/freeze.js";
import type { Json, ToolOutput } from "../../core/data/message.js";
import type { Answer } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { initialState, isResting } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import type { Answers } from "../agent/answer-types.js";
import { checkSessionId, checkSteerOptions } from "../agent/check-run-options.js";
import { checkedClock } from "../agent/checked-clock.js";
import { checkSkip, type Input, messagesOf, type SteerOptions } from "../agent/run-input.js";
import { makeRandomId, systemClock } from "../lib/clock.js";
import { checkedStore } from "../log/checked-store.js";
import { throwNoSession } from "../log/driver-errors.js";
import { loadKnown } from "../log/known-session.js";
import { readEntries } from "../log/read-entries.js";
import { createAnswering } from "./answers.js";
import { createDataAccess, type DataAccess } from "./session-data.js";
import { sessionTools } from "./session-tools.js";

export type ClientOptions = {
  readonly store: Store;
  /** Default: the system clock. Tests may pass their own. */
  readonly clock?: Clock;
  readonly makeId?: MakeId;
};

/**
 * The answer to a call, or `expired` if nobody answered in time. `at` is in epoch milliseconds; `by` names the person.
 */
export type GivenAnswer = {
  readonly type: Answer["type"] | "expired";
  readonly at: number;
  readonly by?: string;
  readonly note?: string;
  /** The edited input of a `modify`. */
  readonly input?: Json;
  /** The output of a `result`. */
  readonly output?: ToolOutput;
  /** Which question of a tool was answered, and the value of a `reply`. */
  readonly questionId?: string;
  readonly value?: Json;
};

export type ClientSession = Answers &
  DataAccess & {
    readonly id: string;
    /**
     * The answer to a call, or to one question of its tool; the last one, if the call asked more than once; null if there
     * is none.
     */
    readonly answerTo: (callKey: string, questionId?: string) => Promise<GivenAnswer | null>;
    /** The tools that the session's model was last offered, with their schemas. @throws PawlError `no_session` */
    readonly tools: () => Promise<readonly ToolSpecification[]>;
    /**
     * Adds input before the next model call. It may skip the calls that have not started.
     * @throws PawlError `no_session`, `run_finished` if no run is under way, `bad_input`
     */
    readonly steer: (input: Input, options?: SteerOptions) => Promise<void>;
    /** Aborts the run under way, if there is one. @throws PawlError `bad_input` */
    readonly abort: (options?: { readonly note?: string; readonly by?: string }) => Promise<void>;
  };

export type Client = {
  readonly session: (sessionId: string) => ClientSession;
};

/**
 * Creates a client of a store. `pendingApprovals(store)` lists the calls that wait for an answer.
 * @throws PawlError `bad_configuration` if the clock is unusable
 */
export function createClient(options: ClientOptions): Client {
  checkOptions("createClient()", clientRules, options);
  const store = checkedStore(options.store);
  const { makeId = makeRandomId } = options;
  const clock = checkedClock(options.clock ?? systemClock);
  return {
    session(sessionId) {
      checkSessionId(sessionId);
      return clientSession(sessionId, store, clock, makeId);
    },
  };
}

const clientRules: OptionTable<ClientOptions> = { store: anObject, clock: anObject, makeId: aFunction };

function clientSession(id: string, store: Store, clock: Clock, makeId: MakeId): ClientSession {
  const post = async (messageId: string, body: InboxBody) => {
    const posted = await store.post(id, { id: messageId, at: clock.now(), body });
    return posted.type === "posted" ? "said" : "duplicate";
  };

  async function steer(input: Input, options: SteerOptions = {}): Promise<void> {
    checkSteerOptions(options);
    const { skip } = options;
    const skipping = skip === undefined ? {} : { skip: checkSkip(skip, "steer") };
    const state = (await store.load(id))?.state ?? initialState;
    const { session } = state;
    if (session === null) return throwNoSession(id);
    if (isResting(state))
      throw new PawlError(
        "run_finished",
        `No run is under way in session ${id} (${state.status}): there is nothing to steer. Send the input as the next request.`,
      );
    const runId = makeId();
    const { limits } = state;
    const said = { runId, input: messagesOf(input), limits, session, ...skipping };
    await post(`run/${runId}`, { type: "input", mode: "steer", ...said });
  }

  const noAgent = { tools: new Map(), services: servicesOf(store), clock };
  const childSession = (_: string, childId: string) => clientSession(childId, store, clock, makeId);
  const load = () => loadKnown(store, id);
  const answering = createAnswering(id, { store, clock, makeId, partsAt: () => noAgent }, load, post, childSession);
  return {
    id,
    ...answering,
    ...createDataAccess(id, { store, makeId }, load, post),
    answerTo: async (callKey, questionId) => {
      await loadKnown(store, id);
      return freeze(await answerTo(store, id, callKey, questionId));
    },
    tools: async () => freeze(await sessionTools(store, id, await loadKnown(store, id))),
    steer,
  };
}

/** Looks in the log and in the inbox: an answer stays in the inbox until a driver takes it. */
async function answerTo(
  store: Store,
  sessionId: string,
  callKey: string,
  questionId: string | undefined,
): Promise<GivenAnswer | null> {
  const isMeant = (one: { readonly callKey?: string; readonly questionId?: string }) =>
    one.callKey === callKey && (questionId === undefined || one.questionId === questionId);
  let given: GivenAnswer | null = null;
  let isExternal = false;
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (event.type === "answered" && isMeant(event)) given = givenAnswer(event, event.at);
    if (event.type === "timer_fired" && isMeant(event))
      given = { type: "expired", at: event.at, ...defined({ questionId: event.questionId }) };
    if (event.type === "tool_decided" && event.callKey === callKey)
      isExternal = "policy" in event.decision && event.decision.policy.external === true;
    if (event.type === "tool_finished" && event.callKey === callKey && isExternal && event.output !== undefined)
      given = { type: "result", at: event.at, output: event.output };
  }
  for (const { body, at } of await store.inbox(sessionId))
    if (body.type === "answer" && isMeant(body)) given = givenAnswer(body, at);
    else if (body.type === "result" && body.callKey === callKey) given = { type: "result", at, output: body.output };
  return given;
}

function givenAnswer(
  { answer, by, questionId }: { readonly answer: Answer; readonly by?: string; readonly questionId?: string },
  at: number,
): GivenAnswer {
  const note = "note" in answer ? answer.note : undefined;
  return {
    type: answer.type,
    at,
    ...defined({ by, note, questionId }),
    ...(answer.type === "modify" ? { input: answer.input } : {}),
    ...(answer.type === "result" ? { output: answer.output } : {}),
    ...(answer.type === "reply" ? { value: answer.value } : {}),
  };
}
