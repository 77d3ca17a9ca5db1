/**
 * A client of a store: reads its sessions, sends input to them, answers, steers and aborts, but drives none of them.
 *
 * 1. A client needs neither a model nor tools. It posts messages, which the session's driver consumes. It holds a lease only on a fork,
 *    while it writes the copy.
 * 2. A client may answer a child's call in the child session or in a session above it.
 */

import { aFunction, anObject, aStore, checkOptions, type OptionTable, required } from "../../check-options.js";
import { createClientServices } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { Json, Message, ToolOutput } from "../../core/data/message.js";
import type { Answer, EventOf, Overruled } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { initialState, isResting, type State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import { createHolder } from "../../platform/holder.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import { createLazyItems } from "../../stream/lazy-items.js";
import type { AbortMethod, Answers } from "../agent/answer-types.js";
import { checkPostedOptions, checkSessionId, checkSteerOptions } from "../agent/check-run-options.js";
import { createCheckedClock } from "../agent/checked-clock.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { parseDelay } from "../agent/delay.js";
import { hasBlobs, type Input, readBlobs } from "../agent/input-parts.js";
import {
  checkRunId,
  checkSkip,
  createPostedBody,
  type Sender,
  type SteerOptions,
  toUserMessages,
} from "../agent/run-input.js";
import type { ItemsOf, OneSessionOptions, StreamItem } from "../agent/stream-types.js";
import { makeRandomId, systemClock } from "../lib/clock.js";
import { createCheckedStore } from "../log/checked-store.js";
import { busyError, throwNoSession } from "../log/driver-errors.js";
import { isInFamily } from "../log/find-in-family.js";
import { loadExistingState } from "../log/known-session.js";
import { findOpenRunId } from "../log/open-runs.js";
import { loadCurrentResult, loadRunResult } from "../log/present-result.js";
import { readEntries } from "../log/read-entries.js";
import { readTranscript } from "../log/read-log.js";
import { createFollowedSessions, createFollowedSource, type FollowedSessions } from "../session/followed-session.js";
import { openItems, readLoggedEvents, readSession, streamItems } from "../session/session-items.js";
import { createAnswerMethods } from "./answers.js";
import { checkNoteAndBy } from "./check-answer.js";
import { checkCall } from "./check-call-options.js";
import { createDelayed, type Delayed, sendLater } from "./delayed.js";
import { forkSession } from "./fork.js";
import { createRedacting, type Redacting } from "./redact.js";
import { createRenaming, type Renaming } from "./rename.js";
import { readLook } from "./session-beginning.js";
import { createDataAccess, type DataAccess } from "./session-data.js";
import type { SendOptions } from "./session-handle.js";
import { loadSessionTools } from "./session-tools.js";
import { createSendSignal, type SendSignal } from "./signal.js";

/** The store that a client posts to. */
export type ClientOptions = {
  readonly store: Store;
  /** Default: the system clock. Tests may pass their own. */
  readonly clock?: Clock;
  /** Creates the ids of sessions and runs. Default: random UUIDs. */
  readonly makeId?: MakeId;
};

/** The options of `Session.send`, without those that require the agent in the same process. */
export type PostOptions = Omit<SendOptions, "signal" | "limits"> & {
  /** The folder that a new session is bound to, like an agent's `root`. Default: the `root` of the agent that executes the run. */
  readonly root?: string;
  /** `null`: the session does not exist, for example because its id is new, so it is not read. Requires `agent`. Default: it is read. */
  readonly seen?: null;
};

/** The answer to a call, or `expired` if it was not answered in time. `by` names the person. */
export type GivenAnswer = {
  /** The decision. */
  readonly type: Answer["type"] | "expired";
  /**
   * Epoch milliseconds. Until a driver has consumed the answer, the time at which it was sent; from then on, the time at which it was
   * recorded in the log, which is later.
   */
  readonly at: number;
  readonly by?: string;
  readonly note?: string;
  /** The edited input of a `modify`. */
  readonly input?: Json;
  /** The output of a `result`. */
  readonly output?: ToolOutput;
  /** Which question of a tool was answered, and the value of a `reply`. */
  readonly questionId?: string;
  /** The person's answer to the tool's question. */
  readonly value?: Json;
  /** The person approved, but `canExecuteTool` then denied the call. `type` and `note` describe that denial. */
  readonly overruled?: Overruled;
};

type AnswersAndData = Answers & DataAccess & Delayed & Renaming & Redacting;

/** A session, for a process that does not drive sessions. */
export type ClientSession = AnswersAndData & {
  /** The id of the session. */
  readonly id: string;
  /** The answer to a call, or to one question of its tool. If the call asked more than once, the last answer. Null if there is none. */
  readonly answerTo: (callKey: string, questionId?: string) => Promise<GivenAnswer | null>;
  /**
   * Whether a call of the session, or of a child session, was answered with this `requestId`: then the request was sent again, and
   * must answer nothing else. List the waiting calls before, so that no call which waits later is answered.
   */
  readonly hasAnswerFrom: (requestId: string) => Promise<boolean>;
  /** The tools that the session's model was last offered, with their schemas. @throws PawlError `no_session` */
  readonly tools: () => Promise<readonly ToolSpecification[]>;
  /**
   * Sends input, like `Session.send`. A process with the session's agent executes the run with that agent's limits: a worker, or the
   * process that holds the session. A new session starts with the agent that the option `agent` names; in an existing session, `agent`
   * works as in `Session.send`.
   * @throws PawlError `no_session` if the session does not exist and no agent is named; `session_busy`, `bad_input`
   */
  readonly send: (input: Input, options?: PostOptions) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /**
   * Adds input before the next model call. It can skip the calls that have not started.
   * @throws PawlError `no_session`, `run_finished` if no run is in progress, `bad_input`
   */
  readonly steer: (input: Input, options?: SteerOptions & Sender) => Promise<void>;
  /**
   * Like `Session.events`. What another process streams is not in the store, so without an agent there are no deltas, and nothing else that
   * is not logged. All consumers of a session in this client share one follower of its log.
   */
  readonly events: (options?: OneSessionOptions) => AsyncGenerator<StreamItem, void, undefined>;
  /** Like `Session.state`, `messages` and `result`. */
  readonly state: () => Promise<State>;
  readonly messages: () => Promise<readonly Message[]>;
  /** The result of a run; by default, of the last run. Null if there is none yet. */
  readonly result: (runId?: string) => Promise<RunResult | null>;
  /** Like `Session.fork`. */
  readonly fork: (options?: { readonly at?: number; readonly sessionId?: string }) => Promise<ClientSession>;
  /** Aborts the current run, or the named run, which may still be queued. @throws PawlError `no_session`, `bad_input` */
  readonly abort: AbortMethod;
};

/** Reads sessions and posts to them, without an agent. */
export type Client = {
  /** A session by its id. */
  readonly session: (sessionId: string) => ClientSession;
  /** Sends a signal to the tools that wait for it in any session of the store. */
  readonly signal: SendSignal;
};

/**
 * Creates a client of a store. `pendingApprovals(store)` lists the calls that wait for an answer.
 * @throws PawlError `bad_configuration` if the clock is unusable
 *
 * @example
 * ```ts
 * const session = createClient({ store }).session("rent");
 * const { runId } = await session.send("Pay the rent.", { agent: "bookkeeper" }); // a worker carries it out
 * for await (const item of session.events()) if (item.type === "final" && item.runId === runId) break;
 * console.log(await session.result(runId));
 * ```
 */
export function createClient(options: ClientOptions): Client {
  checkOptions("createClient()", clientRules, options);
  const store = createCheckedStore(options.store);
  const { makeId = makeRandomId } = options;
  const clock = createCheckedClock(options.clock ?? systemClock);
  const noAgent = { tools: new Map(), services: createClientServices(store), clock };
  const deps: ClientDeps = { store, clock, makeId, noAgent, followed: createFollowedSessions(store, clock) };
  return {
    session(sessionId) {
      checkSessionId(sessionId);
      return createClientSession(sessionId, deps);
    },
    signal: createSendSignal(store, clock, makeId),
  };
}

const clientRules: OptionTable<ClientOptions> = { store: required(aStore), clock: anObject, makeId: aFunction };

type ClientDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly makeId: MakeId;
  /** What is known about the agent of any session. */
  readonly noAgent: Pick<CompiledAgent, "tools" | "services" | "clock">;
  readonly followed: FollowedSessions;
};

/** The length of a fork's lease, in milliseconds. */
const forkLeaseMs = 15_000;

function createClientSession(id: string, deps: ClientDeps): ClientSession {
  const { store, clock, makeId } = deps;
  const post = async (messageId: string, body: InboxBody) => {
    const posted = await store.post(id, { id: messageId, at: clock.now(), body });
    return posted.type === "posted" ? "delivered" : "duplicate";
  };

  async function send(given: Input, options: PostOptions = {}) {
    checkPostedOptions(options);
    checkNoteAndBy({ by: options.by });
    const input = hasBlobs(given) ? await readBlobs(given) : given;
    const { mode = "queue", runId = makeId(), agent, root, seen, at, afterMs, ...others } = options;
    const postAt = parseDelay({ mode, ...defined({ at, afterMs }) }, clock.now());
    // For a new session, one read instead of three.
    const isNew = agent !== undefined && (seen === null || (await store.describe(id)) === null);
    const state = isNew ? initialState : ((await store.load(id))?.state ?? initialState);
    const binding = isNew ? null : (state.session ?? (await readLook(store, id)).binding);
    const session = binding ?? (agent === undefined ? throwNoAgentNamed(id) : { agent, ...defined({ root }) });
    // A repeated request refers to the same run, which may be in progress.
    if (mode === "reject" && ![null, runId].includes(await findOpenRunId(store, id, state))) throw busyError(id);
    const agentOption = binding === null || agent === undefined || agent === binding.agent ? {} : { agent };
    const postMode = mode === "reject" ? "queue" : mode;
    const runOptions = { ...others, ...agentOption, ...defined({ runId: options.runId }) };
    const body = createPostedBody(input, runOptions, session, runId, postMode, options);
    if (postAt !== null) return { runId, isNew: await sendLater(store, id, { message: body, at: postAt }) };
    return { runId, isNew: (await post(`run/${runId}`, body)) === "delivered" };
  }

  async function steer(given: Input, options: SteerOptions & Sender = {}): Promise<void> {
    checkSteerOptions(options);
    checkNoteAndBy({ by: options.by });
    const input = hasBlobs(given) ? await readBlobs(given) : given;
    const { skip, by } = options;
    const skipping = skip === undefined ? {} : { skip: checkSkip(skip, "steer") };
    const state = (await store.load(id))?.state ?? initialState;
    const { session } = state;
    if (session === null) return throwNoSession(id);
    if (isResting(state))
      throw new PawlError(
        "run_finished",
        `No run is in progress in session ${id} (${state.status}), so there is nothing to steer. Send the input as the next request.`,
      );
    const runId = makeId();
    const { limits } = state;
    const message = { runId, input: toUserMessages(input), limits, session, ...skipping, ...defined({ by }) };
    await post(`run/${runId}`, { type: "input", mode: "steer", ...message });
  }

  const childSession = (_: string, childId: string) => createClientSession(childId, deps);
  const load = () => loadExistingState(store, id);
  const answering = createAnswerMethods(
    id,
    { store, clock, makeId, partsAt: () => deps.noAgent },
    load,
    post,
    childSession,
  );
  return {
    id,
    ...answering,
    ...createDelayed(id, { store }),
    ...createDataAccess(id, { store, makeId }, load, post),
    ...createRenaming({ makeId }, load, post),
    ...createRedacting(id, { store, clock }),
    answerTo: async (callKey, questionId) => {
      await loadExistingState(store, id);
      return deepFreeze(await answerTo(store, id, callKey, questionId));
    },
    async hasAnswerFrom(requestId) {
      await loadExistingState(store, id);
      return isInFamily(store, id, {
        event: (event) => event.type === "answered" && event.requestId === requestId,
        message: (body) => body.type === "answer" && body.requestId === requestId,
      });
    },
    tools: async () => deepFreeze(await loadSessionTools(store, id, await loadExistingState(store, id))),
    send,
    steer,
    events: (options = {}) => clientEvents(id, deps, options),
    state: async () => deepFreeze(await load()),
    messages: async () => deepFreeze((await readTranscript(store, id, await load())).messages),
    async result(runId) {
      const state = await load();
      if (runId === undefined) return deepFreeze(await loadCurrentResult(store, id, state));
      checkRunId(runId);
      return deepFreeze(await loadRunResult(store, id, state, runId));
    },
    async fork(options = {}) {
      checkCall.fork(options);
      const { at, sessionId = makeId() } = options;
      checkSessionId(sessionId);
      const holder = { holder: createHolder(), leaseMs: forkLeaseMs };
      await forkSession(id, sessionId, at ?? (await load()).seq, { store, clock }, holder);
      return createClientSession(sessionId, deps);
    },
  };
}

function clientEvents(
  id: string,
  deps: ClientDeps,
  options: OneSessionOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  return createLazyItems(() => {
    checkCall.clientEvents(options);
    return readItemsNow(id, deps, options);
  });
}

/** A separate function, so that a consumer that waits for a long time does not keep the initial state in memory. */
async function readItemsNow(id: string, { store, followed }: ClientDeps, options: OneSessionOptions) {
  const load = () => loadExistingState(store, id);
  if (options.follow === false) return readLoggedEvents(store, id, options, load);
  const { seq, state } = await readSession(options, load);
  const items: ItemsOf = (_, wanted) => streamItems(() => createFollowedSource(id, followed), seq, wanted);
  return await openItems(items, store, id, state, options);
}

function throwNoAgentNamed(sessionId: string): never {
  throw new PawlError(
    "no_session",
    `There is no session ${sessionId} in this store. To start it, name its agent in the option agent.`,
  );
}

/**
 * Searches the inbox and the log: an answer stays in the inbox until a driver consumes it. The inbox is read first, so that an answer
 * that is consumed meanwhile is found in the log. Of several answers to a call, the latest is given.
 */
async function answerTo(
  store: Store,
  sessionId: string,
  callKey: string,
  questionId: string | undefined,
): Promise<GivenAnswer | null> {
  const isMatch = (one: { readonly callKey?: string; readonly questionId?: string }) =>
    one.callKey === callKey && (questionId === undefined || one.questionId === questionId);
  const posted = await store.inbox(sessionId);
  let given: GivenAnswer | null = null;
  let isExternal = false;
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (event.type === "answered" && isMatch(event)) given = toGivenAnswer(event, event.at);
    if (event.type === "timer_fired" && isMatch(event))
      given = { type: "expired", at: event.at, ...defined({ questionId: event.questionId }) };
    if (event.type === "tool_decided" && event.callKey === callKey)
      isExternal = "policy" in event.decision && event.decision.policy.external === true;
    if (event.type === "tool_finished" && event.callKey === callKey && isExternal && event.output !== undefined)
      given = { type: "result", at: event.at, output: event.output };
  }
  for (const { body, at } of posted) {
    if (given !== null && given.at > at) continue;
    if (body.type === "answer" && isMatch(body)) given = toGivenAnswer(body, at);
    else if (body.type === "result" && body.callKey === callKey) given = { type: "result", at, output: body.output };
  }
  return given;
}

function toGivenAnswer(
  { answer, by, questionId, overruled }: Pick<EventOf<"answered">, "answer" | "by" | "questionId" | "overruled">,
  at: number,
): GivenAnswer {
  const note = "note" in answer ? answer.note : undefined;
  return {
    type: answer.type,
    at,
    ...defined({ by, note, questionId, overruled }),
    ...(answer.type === "modify" ? { input: answer.input } : {}),
    ...(answer.type === "result" ? { output: answer.output } : {}),
    ...(answer.type === "reply" ? { value: answer.value } : {}),
  };
}
