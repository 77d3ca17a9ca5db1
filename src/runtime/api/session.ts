/**
 * A session, as a user holds it: what can be said to it, and what can be seen of it.
 */

import type { Message } from "../../core/data/message.js";
import { dueAt } from "../../core/machine/effects.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { initialState, isResting, isWaiting, type State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Answers } from "../agent/answer-types.js";
import { type CompiledAgent, checkAgent } from "../agent/compiled-agent.js";
import { compileLocalOptions, type LocalOptions } from "../agent/local-run-options.js";
import type { Replay, ReplayOptions } from "../agent/replay-types.js";
import { type Input, inputBody, type OutputOptions, type StartOptions } from "../agent/run-input.js";
import { withOutput } from "../agent/structured-output.js";
import { behindEvent, type Cursor, isBehind, parseCursor } from "../log/cursor.js";
import { throwNoSession } from "../log/driver-errors.js";
import { loadTranscript, readEvents } from "../log/read-log.js";
import { deliver, requestRun, resume as resumeLive } from "../session/deliver.js";
import { type LocalSession, subscribe } from "../session/local-session.js";
import { endSubscription, itemsOf, type StreamItem } from "../subscribers/subscription.js";
import { createAnswers } from "./answers.js";
import { checkWords } from "./check-answer.js";

export type SendOptions = Pick<
  StartOptions,
  | "signal"
  | "runId"
  | "limits"
  | "systemPrompt"
  | "activeTools"
  | "toolChoice"
  | "interactive"
  | "providerOptions"
  | "output"
> & {
  /** While a run is active: become the next run (default), go in before the next model call, or be refused (`session_busy`). */
  readonly mode?: "queue" | "steer" | "reject";
};

export type Session = Answers & {
  readonly id: string;
  /** Says something: starts a run, or joins the one under way. Resolves when it is durable, with the run's id. */
  readonly send: (input: Input, options?: SendOptions) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /** `send` with mode `steer`. */
  readonly steer: (input: Input) => Promise<void>;
  /** Ends the run under way; nothing happens where there is none. */
  readonly abort: (options?: { readonly note?: string; readonly by?: string }) => Promise<void>;
  /** Carries on what was interrupted, and gives its result. @throws PawlError `no_session`, `run_finished` */
  readonly resume: Resume;
  /** The result of a run: the present or last one where none is named. Null while nobody drives it and it has not ended. */
  readonly result: () => Promise<RunResult | null>;
  /**
   * A new session that shares this one's history up to an entry (all of it unless given); what was under way there is ended in the copy.
   * @throws PawlError `no_session`, `bad_input` where there is no such entry, `session_busy` where the new id is taken
   */
  readonly fork: (options?: { readonly at?: number; readonly sessionId?: string }) => Promise<Session>;
  /**
   * Runs the log again against the present code and agent: its tools' schemas, its policies, its retries. Models and tools give
   * what was recorded; nothing outside is touched, nothing is written. Tells the first difference.
   * @throws PawlError `no_session`, `agent_mismatch`, `root_mismatch`
   */
  readonly replay: (options?: ReplayOptions) => Promise<Replay>;
  readonly state: () => Promise<State>;
  /** What the model sees. */
  readonly messages: () => Promise<readonly Message[]>;
  /**
   * Public events after an entry: those of the log first, then live ones with deltas, until the consumer leaves or `signal` is aborted;
   * what had come by then is still given.
   */
  readonly events: (options?: {
    /** The number of an entry, or the place of an event (`"57.2"`: entry and index). 0 unless given: from the start. */
    readonly after?: number | string;
    readonly follow?: boolean;
    readonly signal?: AbortSignal;
  }) => AsyncGenerator<StreamItem, void, undefined>;
};

/** Given what the run was started with and the log does not keep, it goes by that; see `StartOptions`. */
export type Resume = {
  <Output>(options: LocalOptions & OutputOptions<Output>): Promise<RunResult<Output>>;
  (options?: LocalOptions): Promise<RunResult>;
};

/** What a session needs of the process that it is held in. */
export type SessionDependencies = {
  readonly live: () => LocalSession;
  readonly fork: (at: number, targetId: string) => Promise<Session>;
  readonly replay: (options: ReplayOptions) => Promise<Replay>;
};

export function createSession(id: string, parts: CompiledAgent, { live, fork, replay }: SessionDependencies): Session {
  const { store, clock, makeId } = parts;
  const load = async () => (await store.load(id))?.state ?? initialState;
  const post = (messageId: string, body: InboxBody, known: State) =>
    deliver(live(), { id: messageId, at: clock.now(), body }, { shared: true, known });

  async function refuseBusy(): Promise<void> {
    if (isResting(await load())) return;
    throw new PawlError(
      "session_busy",
      `Session ${id} has a run under way. Wait for it, or send with mode "queue" or "steer".`,
    );
  }

  async function send(input: Input, options: SendOptions = {}) {
    const { mode = "queue", runId = makeId(), signal } = options;
    signal?.throwIfAborted();
    const body = inputBody(input, options, parts, runId, mode === "steer" ? "steer" : "queue");
    const message = { id: `run/${runId}`, at: clock.now(), body };
    const shared = options.runId !== undefined;
    const said = await requestRun(live(), runId, message, {
      shared,
      ...(signal === undefined ? {} : { signal }),
      ...(mode === "reject" ? { check: refuseBusy } : {}),
    });
    return { runId, isNew: said === "said" };
  }

  async function abort({ note, by }: { readonly note?: string; readonly by?: string } = {}) {
    checkWords({ note, by });
    const state = await load();
    if (isResting(state)) return;
    const said = { ...(note === undefined ? {} : { note }), ...(by === undefined ? {} : { by }) };
    await post(`abort/${makeId()}`, { type: "abort", runId: state.runId, ...said }, state);
  }

  const answers = createAnswers(id, parts, post, abort);

  async function resume(options: LocalOptions = {}): Promise<RunResult> {
    const locals = compileLocalOptions(options, parts.deps);
    if (locals === undefined) return resumeRun();
    const state = await load();
    const queued = state.queue.find((one) => one.kind === "run");
    const present = state.status === "idle" || isResting(state) ? queued : state;
    return present?.runId === undefined ? resumeRun() : withOutput(present.runId, locals, parts.locals, resumeRun);
  }

  async function resumeRun(): Promise<RunResult> {
    const state = await load();
    const isPosted = (await store.inbox(id)).length > 0;
    if (state.session === null && !isPosted) throwNoSession(id);
    checkAgent(id, state, parts);
    const due = dueAt(state);
    const hasQueued = state.queue.some((one) => one.kind === "run");
    if (isResting(state) && !isPosted && !hasQueued && due === null)
      throw new PawlError(
        "run_finished",
        `The last run of session ${id} has ended (${state.status}). Send something to start the next one.`,
      );
    const waits = state.status === "awaiting_human" && !isPosted && (due === null || due > clock.now());
    return (waits ? await result() : null) ?? resumeLive(live(), state.seq);
  }

  async function result(): Promise<RunResult | null> {
    const state = await load();
    if (state.status === "idle") return null;
    const transcript = await loadTranscript(store, id, state);
    return resultOf(id, state, transcript) ?? waitingResult(state, transcript);
  }

  /** A run whose children wait for a person waits for that person. */
  async function waitingResult(state: State, { run }: Transcript): Promise<RunResult | null> {
    if (run === null || state.status === "idle" || !isWaiting(state)) return null;
    const approvals = await answers.pendingApprovals();
    if (approvals.length === 0) return null;
    const { runId, answer } = run;
    const { usage, counters } = state;
    const text = answer;
    return { sessionId: id, runId, status: "awaiting_human", text, usage, steps: counters.totalSteps, approvals };
  }

  async function* events({ after = 0, follow = true, signal }: Parameters<Session["events"]>[0] = {}) {
    const from = parseCursor(after);
    if (!follow) return yield* readEvents(store, id, from);
    const { seq } = await load();
    const subscription = subscribe(live(), { stayAfter: Math.max(seq, from.seq) });
    const leave = () => endSubscription(subscription);
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted === true) leave();
    const items = itemsOf(subscription);
    try {
      const known: Known = { upTo: from, attempts: new Set() };
      for await (const event of readEvents(store, id, from)) {
        known.upTo = behindEvent(event);
        if (event.type === "step_finished" || event.type === "attempt_failed") known.attempts.add(attemptOf(event));
        yield event;
      }
      for await (const item of items) if (!isKnown(item, known)) yield item;
    } finally {
      signal?.removeEventListener("abort", leave);
      await items.return();
    }
  }

  return {
    id,
    send,
    steer: async (input) => void (await send(input, { mode: "steer" })),
    ...answers,
    abort,
    resume: resume as Resume,
    result,
    fork: async ({ at, sessionId = makeId() } = {}) => fork(at ?? (await load()).seq, sessionId),
    replay: (options = {}) => replay(options),
    state: load,
    messages: async () => [...(await loadTranscript(store, id, await load())).messages],
    events,
  };
}

/** What the log has given already: its last event, and the attempts whose messages are whole by now. */
type Known = { upTo: Cursor; readonly attempts: Set<string> };

function isKnown(item: StreamItem, { upTo, attempts }: Known): boolean {
  if (item.type === "delta") return attempts.has(attemptOf(item.delta));
  if (item.type === "snapshot") return attempts.has(attemptOf(item));
  return "seq" in item && !isBehind(item, upTo);
}

type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

function attemptOf({ runId, modelCallIndex, attempt }: Attempt): string {
  return `${runId}/${modelCallIndex}/${attempt}`;
}
