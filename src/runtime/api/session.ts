/**
 * Creates the public handle of a session, which sends messages to it, and reads its results, events and state.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import { findChildSessions } from "../../core/machine/child-reports.js";
import { dueAt } from "../../core/machine/effects.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { initialState, isResting, isSuspended, type State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import { findChildAgent } from "../agent/agent-family.js";
import { checkGraph } from "../agent/agent-graph.js";
import { refuseOtherTools } from "../agent/agent-with-run-tools.js";
import {
  checkResumeOptions,
  checkRunTools,
  checkSeedOptions,
  checkSendOptions,
  checkSessionId,
  checkSteerOptions,
} from "../agent/check-run-options.js";
import { type CompiledAgent, checkAgent, getSessionAgent, getSessionFamily } from "../agent/compiled-agent.js";
import { parseDelay } from "../agent/delay.js";
import { checkHistory, type History, type HistoryOptions } from "../agent/history.js";
import { hasBlobs, type Input, readBlobs } from "../agent/input-parts.js";
import { compileLocalOptions, type ResumeOptions, type SessionLook } from "../agent/local-run-options.js";
import type { Replay, ReplayOptions } from "../agent/replay-types.js";
import { checkRunId, createInputBody, createSessionInfo } from "../agent/run-input.js";
import type { ItemsOf } from "../agent/stream-types.js";
import { runWithOutput } from "../agent/structured-output.js";
import { takeUpChildren } from "../driver/lost-children.js";
import { busyError, runFinishedError, throwNoSession } from "../log/driver-errors.js";
import { isChildDue } from "../log/due-children.js";
import { loadExistingState } from "../log/known-session.js";
import { loadCurrentResult, loadRunResult } from "../log/present-result.js";
import { loadTranscript } from "../log/read-log.js";
import { attendSession, deliver, type ResumeActions, requestRun, resume as resumeLive } from "../session/deliver.js";
import { findEndedRun, type InterruptedRuns, recordInterrupted } from "../session/interrupted-runs.js";
import type { LocalSession } from "../session/local-session.js";
import { findAgentOfChild } from "./agent-of-child.js";
import { createAnswerMethods } from "./answers.js";
import { checkNoteAndBy } from "./check-answer.js";
import { checkCall } from "./check-call-options.js";
import { createCompact } from "./compaction.js";
import { createDelayed, sendLater } from "./delayed.js";
import { createRedacting } from "./redact.js";
import { createRenaming } from "./rename.js";
import { createHistoryTitle, refuseUnlessEntered, refuseUnlessNew, seedHistory } from "./seed.js";
import { readLook } from "./session-beginning.js";
import { createDataAccess } from "./session-data.js";
import { createSessionEvents } from "./session-events.js";
import type { Resume, SendOptions, Session } from "./session-handle.js";

/** Functions of the process that a session handle uses. */
export type SessionDeps = {
  readonly live: () => LocalSession;
  readonly itemsOf: ItemsOf;
  /** The state, if this process certainly drives the session; otherwise null. */
  readonly drivenState: () => State | null;
  /** Whether this process is sending a request to the session. */
  readonly isStarting: () => boolean;
  /** Acts after the requests that this process is sending to the session are durable or have failed. */
  readonly afterRequests: <T>(act: () => Promise<T>) => Promise<T>;
  readonly interrupted: InterruptedRuns;
  /** Leaves the session itself to other processes, if it is in this process. */
  readonly leave: (graceMs: number) => Promise<void>;
  readonly fork: (at: number, targetId: string) => Promise<Session>;
  readonly replay: (options: ReplayOptions) => Promise<Replay>;
};

export function createSession(id: string, agent: CompiledAgent, deps: SessionDeps): Session {
  const { live, itemsOf, fork, replay, isStarting, afterRequests, interrupted } = deps;
  const { store, clock, makeId } = agent;
  const load = async () => (await store.load(id))?.state ?? initialState;
  const known = async () => deps.drivenState() ?? loadExistingState(store, id, isStarting);
  const post = (messageId: string, body: InboxBody, known: State) =>
    deliver(live(), { id: messageId, at: clock.now(), body }, { shared: true, known });

  /** If the session is driven here, the driver commits the change, so the sender finds it in the log. */
  const postChange = (messageId: string, body: InboxBody, known: State) =>
    deliver(live(), { id: messageId, at: clock.now(), body }, { shared: false, known });

  async function refuseBusy(): Promise<void> {
    if (!isResting(await load())) throw busyError(id);
  }

  async function send(given: Input, options: SendOptions = {}) {
    checkGraph(agent);
    checkSendOptions(options, agent);
    checkNoteAndBy({ by: options.by });
    const { mode = "queue", runId = makeId(), signal } = options;
    signal?.throwIfAborted();
    const input = hasBlobs(given) ? await readBlobs(given) : given;
    const body = createInputBody(input, options, agent, runId, mode === "reject" ? "queue" : mode, options);
    const at = parseDelay(options, clock.now());
    if (at !== null) return { runId, isNew: await sendLater(store, id, { message: body, at }) };
    const message = { id: `run/${runId}`, at: clock.now(), body };
    const shared = options.runId !== undefined;
    if (mode === "steer") await known();
    const delivery = await requestRun(live(), runId, message, {
      shared,
      ...(signal === undefined ? {} : { signal }),
      ...(mode === "reject" ? { check: refuseBusy } : {}),
    });
    return { runId, isNew: delivery === "delivered" };
  }

  async function seed(messages: History, options: HistoryOptions = {}): Promise<void> {
    checkSeedOptions(options);
    const checked = checkHistory(messages, options);
    if (checked.messages.length === 0)
      throw new PawlError("bad_input", "The history is empty, so there is nothing to add.");
    await refuseUnlessNew(id, store);
    const history = await seedHistory(checked, live());
    const session = createSessionInfo(agent, createHistoryTitle(checked));
    const message = {
      id: `history/${makeId()}`,
      at: clock.now(),
      body: { type: "history", history, session },
    } as const;
    await deliver(live(), message, { shared: false, known: initialState });
    await refuseUnlessEntered(history, id, store);
  }

  const childSession = (name: string, childId: string, state: State) =>
    findChildAgent(name, getSessionFamily(agent, state))?.session(childId);
  const partsAt = (state: State) => getSessionAgent(agent, state);
  const answering = createAnswerMethods(id, { store, clock, makeId, partsAt }, known, post, childSession);

  async function resume(options: ResumeOptions = {}): Promise<RunResult> {
    checkResumeOptions(options);
    const { follow = true, onTaken = () => {}, onLeft = () => {}, seen } = options;
    const resumeRun = () => resumeCurrentRun({ follow, onTaken, onLeft }, seen);
    const locals = compileLocalOptions(options);
    checkRunTools(locals?.tools, agent);
    const ended = await findEndedRun(interrupted, store, id);
    if (ended !== null && locals === undefined) return deepFreeze(ended);
    if (ended !== null && locals !== undefined)
      return runWithOutput(id, ended.runId, locals, agent, async () => deepFreeze(ended));
    if (locals === undefined) return resumeRun();
    const state = await load();
    const queued = state.queue.find((one) => one.kind === "run");
    const currentRun = state.status === "idle" || isResting(state) ? queued : state;
    if (locals.tools !== undefined && currentRun?.runId !== undefined) {
      const transcript = await loadTranscript(store, id, state);
      const { options } = (currentRun === queued ? transcript.queued.get(queued?.seq ?? 0) : transcript.run) ?? {};
      refuseOtherTools(locals.tools, currentRun.runId, options?.tools);
    }
    return currentRun?.runId === undefined
      ? resumeRun()
      : runWithOutput(id, currentRun.runId, locals, agent, resumeRun);
  }

  async function resumeCurrentRun(resumeActions: ResumeActions, seen?: SessionLook): Promise<RunResult> {
    checkGraph(agent);
    const { state, isPosted, binding } = seen ?? (await readLook(store, id));
    if (state.session === null && !isPosted) throwNoSession(id);
    const isOwn = binding?.parent === undefined || binding.agent === agent.name;
    const childAgent = isOwn ? null : await findAgentOfChild(id, agent);
    if (childAgent !== null) return childAgent.session(id).resume(resumeActions);
    checkAgent(id, { session: binding }, agent);
    const due = dueAt(state);
    const hasQueued = state.queue.some((one) => one.kind === "run");
    if (isResting(state) && !isPosted && !hasQueued && due === null) throw runFinishedError(id, state);
    const mayWait = isSuspended(state) && !isPosted && (due === null || due > clock.now());
    const waits = mayWait && !(await isChildDue(store, state, clock.now()));
    // A child may be due although other children wait for answers. It continues while they wait.
    const hasLostChild = waits && (await takeUpChildren(id, state, agent));
    const waiting = waits && !hasLostChild ? await result() : null;
    return waiting ?? deepFreeze(recordInterrupted(interrupted, await resumeLive(live(), state.seq, resumeActions)));
  }

  async function leave(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkCall.leave(options);
    const { graceMs = 5_000 } = options;
    const left = deps.leave(graceMs);
    try {
      const state = await load();
      const family = getSessionFamily(agent, state);
      const childSessions = findChildSessions(state).map(({ name, childId }) =>
        findChildAgent(name, family)?.session(childId),
      );
      await Promise.all(childSessions.map((child) => child?.leave({ graceMs })));
    } finally {
      await left;
    }
  }

  async function result(runId?: string): Promise<RunResult | null> {
    const state = await known();
    if (runId === undefined) return deepFreeze(await loadCurrentResult(store, id, state));
    checkRunId(runId);
    return deepFreeze(await loadRunResult(store, id, state, runId));
  }

  const events = createSessionEvents(id, agent, {
    live,
    itemsOf,
    known,
    afterRequests: () => afterRequests(async () => {}),
  });

  return {
    id,
    send,
    seed,
    async steer(input, options = {}) {
      checkSteerOptions(options);
      await send(input, { ...options, mode: "steer" });
    },
    ...answering,
    ...createDelayed(id, agent),
    ...createDataAccess(id, agent, known, postChange),
    ...createRenaming(agent, known, postChange),
    ...createRedacting(id, agent),
    compact: createCompact(id, {
      makeId,
      load: known,
      post: postChange,
      events: events as Session["events"],
      attend: (onEnd) => attendSession(live(), onEnd),
    }),
    abort: (options) => afterRequests(() => answering.abort(options)),
    resume: resume as Resume,
    leave,
    result,
    async fork(options = {}) {
      checkCall.fork(options);
      const { at, sessionId = makeId() } = options;
      checkSessionId(sessionId);
      return fork(at ?? (await load()).seq, sessionId);
    },
    async replay(options = {}) {
      checkCall.replay(options);
      return deepFreeze(await replay(options));
    },
    state: async () => deepFreeze(await known()),
    messages: async () => deepFreeze((await loadTranscript(store, id, await known())).messages),
    events: events as Session["events"],
  };
}
