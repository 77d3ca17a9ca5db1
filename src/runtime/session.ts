/**
 * A session, as a user holds it: what can be said to it, and what can be seen of it.
 */
import { dueAt } from "../core/effects.js";
import type { Answer } from "../core/event.js";
import type { InboxBody } from "../core/inbox.js";
import type { Message } from "../core/message.js";
import { approvalsOf, type PendingApproval, type RunResult, resultOf } from "../core/outcome.js";
import { hasCalls, initialState, isResting, isTerminal, type State } from "../core/state.js";
import { PawlError } from "../errors.js";
import { hashInput } from "./hash.js";
import { loadTranscript, readEvents } from "./history.js";
import type { Live } from "./live.js";
import { normaliseJson, toToolOutput } from "./normalise.js";
import { type AgentParts, checkAgent, compileLimits } from "./parts.js";
import { type Input, messagesOf, runOptionsOf, type StartOptions, sessionInfo, titleOf } from "./request.js";
import type { StreamItem } from "./subscription.js";

/** What a person decides on a call that waits. `modify` runs the edited input; `abort` ends the run. */
export type Decision =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly note?: string }
  | { readonly type: "modify"; readonly input: unknown }
  | { readonly type: "abort"; readonly note?: string }
  | { readonly type: "rerun" }
  | { readonly type: "result"; readonly output: unknown; readonly isError?: boolean }
  | { readonly type: "fail"; readonly note?: string };

export type AnswerOptions = {
  /** Who decides; it is recorded. */
  readonly by?: string;
  /** The hash of the input that was shown: the answer counts for this input only. */
  readonly inputHash?: string;
};

export type SendOptions = Pick<
  StartOptions,
  "signal" | "runId" | "limits" | "systemPrompt" | "activeTools" | "toolChoice" | "interactive" | "providerOptions"
> & {
  /** While a run is active: become the next run (default), go in before the next model call, or be refused (`session_busy`). */
  readonly mode?: "queue" | "steer" | "reject";
};

export type Session = {
  readonly id: string;
  /** Says something: starts a run, or joins the one under way. Resolves when it is durable, with the run's id. */
  readonly send: (input: Input, options?: SendOptions) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /** `send` with mode `steer`. */
  readonly steer: (input: Input) => Promise<void>;
  /** Answers a call that waits. `second` where somebody did before. @throws PawlError `no_such_call` */
  readonly answer: (callKey: string, decision: Decision, options?: AnswerOptions) => Promise<"first" | "second">;
  /** Gives the result of a call that runs elsewhere. */
  readonly provideResult: (
    callKey: string,
    output: unknown,
    options?: { readonly isError?: boolean },
  ) => Promise<"first" | "second">;
  /** Ends the run under way; nothing happens where there is none. */
  readonly abort: (options?: { readonly note?: string; readonly by?: string }) => Promise<void>;
  /** Carries on what was interrupted, and gives its result. @throws PawlError `no_session`, `run_finished` */
  readonly resume: () => Promise<RunResult>;
  /** The result of a run: the present or last one where none is named. Null while nobody drives it and it has not ended. */
  readonly result: () => Promise<RunResult | null>;
  readonly state: () => Promise<State>;
  /** What the model sees. */
  readonly messages: () => Promise<readonly Message[]>;
  /**
   * Public events after an entry: those of the log first, then live ones with deltas, until the consumer leaves or `signal` is aborted;
   * what had come by then is still given.
   */
  readonly events: (options?: {
    readonly after?: number;
    readonly follow?: boolean;
    readonly signal?: AbortSignal;
  }) => AsyncGenerator<StreamItem, void, undefined>;
  readonly pendingApprovals: () => Promise<readonly PendingApproval[]>;
};

export function createSession(id: string, parts: AgentParts, live: () => Live): Session {
  const { store, clock, makeId } = parts;
  const load = async () => (await store.load(id))?.state ?? initialState;
  const post = (messageId: string, body: InboxBody, shared: boolean) =>
    live().say({ id: messageId, at: clock.now(), body }, { shared });

  async function send(input: Input, options: SendOptions = {}) {
    const { mode = "queue", runId = makeId(), signal } = options;
    signal?.throwIfAborted();
    if (mode === "reject" && !isResting(await load()))
      throw new PawlError(
        "session_busy",
        `Session ${id} has a run under way. Wait for it, or send with mode "queue" or "steer".`,
      );
    const body = inputBody(input, options, parts, runId, mode === "steer" ? "steer" : "queue");
    const message = { id: `run/${runId}`, at: clock.now(), body };
    const shared = options.runId !== undefined;
    const said = await live().ask(runId, message, signal === undefined ? { shared } : { shared, signal });
    return { runId, isNew: said === "said" };
  }

  async function answer(callKey: string, decision: Decision, { by, inputHash }: AnswerOptions = {}) {
    const state = await load();
    const call = hasCalls(state) ? state.calls.find((one) => one.callKey === callKey) : undefined;
    if (call?.at !== "asking") return alreadyAnswered(id, callKey, state, call !== undefined);
    if (decision.type === "abort") {
      await abort({
        ...(decision.note === undefined ? {} : { note: decision.note }),
        ...(by === undefined ? {} : { by }),
      });
      return "first";
    }
    const shown = inputHash ?? call.inputHash;
    const body: InboxBody = {
      type: "answer",
      callKey,
      answer: answerOf(decision),
      ...(by === undefined ? {} : { by }),
      ...(shown === undefined ? {} : { inputHash: shown }),
    };
    const said = await post(`answer/${callKey}/${call.why}/${call.attempt}/${call.inputSeq}`, body, true);
    return said === "said" ? "first" : "second";
  }

  async function provideResult(callKey: string, output: unknown, options: { readonly isError?: boolean } = {}) {
    const state = await load();
    const call = hasCalls(state) ? state.calls.find((one) => one.callKey === callKey) : undefined;
    if (call?.at !== "waiting") return alreadyAnswered(id, callKey, state, call !== undefined);
    const isError = options.isError === true ? { isError: true } : {};
    const said = await post(
      `result/${callKey}`,
      { type: "result", callKey, output: toToolOutput(output), ...isError },
      true,
    );
    return said === "said" ? "first" : "second";
  }

  async function abort({ note, by }: { readonly note?: string; readonly by?: string } = {}) {
    const state = await load();
    if (isResting(state)) return;
    const said = { ...(note === undefined ? {} : { note }), ...(by === undefined ? {} : { by }) };
    await post(`abort/${makeId()}`, { type: "abort", runId: state.runId, ...said }, true);
  }

  async function resume(): Promise<RunResult> {
    const state = await load();
    const isPosted = (await store.inbox(id)).length > 0;
    if (state.session === null && !isPosted) throw noSession(id);
    checkAgent(id, state, parts);
    const due = dueAt(state);
    const hasQueued = state.queue.some((one) => one.kind === "run");
    if (isResting(state) && !isPosted && !hasQueued && due === null)
      throw new PawlError(
        "run_finished",
        `The last run of session ${id} has ended (${state.status}). Send something to start the next one.`,
      );
    const waits = state.status === "awaiting_human" && !isPosted && (due === null || due > clock.now());
    return (waits ? await result() : null) ?? live().resume(state.seq);
  }

  async function result(): Promise<RunResult | null> {
    const state = await load();
    return state.status === "idle" ? null : resultOf(id, state, await loadTranscript(store, id, state));
  }

  async function* events({ after = 0, follow = true, signal }: Parameters<Session["events"]>[0] = {}) {
    if (!follow) return yield* await readEvents(store, id, after);
    const { seq } = await load();
    const subscription = live().subscribe({ stayAfter: Math.max(seq, after) });
    const items = subscription.items();
    const leave = () => subscription.end();
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted === true) subscription.end();
    try {
      const known: Known = { seq: after, attempts: new Set() };
      for (const event of await readEvents(store, id, after)) {
        known.seq = event.seq;
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
    answer,
    provideResult,
    abort,
    resume,
    result,
    state: load,
    messages: async () => [...(await loadTranscript(store, id, await load())).messages],
    events,
    async pendingApprovals() {
      const state = await load();
      return hasCalls(state) ? approvalsOf(id, state, await loadTranscript(store, id, state)) : [];
    },
  };
}

/** What the log said already: its last entry, and the attempts whose messages are whole by now. */
type Known = { seq: number; readonly attempts: Set<string> };

function isKnown(item: StreamItem, { seq, attempts }: Known): boolean {
  if (item.type === "delta") return attempts.has(attemptOf(item.delta));
  if (item.type === "snapshot") return attempts.has(attemptOf(item));
  return "seq" in item && item.seq <= seq;
}

type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

function attemptOf({ runId, modelCallIndex, attempt }: Attempt): string {
  return `${runId}/${modelCallIndex}/${attempt}`;
}

/** The message that asks for a run. */
export function inputBody(
  input: Input,
  options: SendOptions,
  parts: AgentParts,
  runId: string,
  mode: "queue" | "steer",
): Extract<InboxBody, { type: "input" }> {
  const messages = messagesOf(input);
  const kept = runOptionsOf(options);
  return {
    type: "input",
    mode,
    runId,
    input: messages,
    limits: options.limits === undefined ? parts.limits : compileLimits({ ...parts.limits, ...options.limits }),
    session: sessionInfo(parts, titleOf(messages)),
    ...(kept === undefined ? {} : { options: kept }),
  };
}

function answerOf(decision: Exclude<Decision, { type: "abort" }>): Answer {
  switch (decision.type) {
    case "modify": {
      const input = normaliseJson(decision.input);
      return { type: "modify", input, inputHash: hashInput(input) };
    }
    case "result": {
      const output = toToolOutput(decision.output);
      return decision.isError === true ? { type: "result", output, isError: true } : { type: "result", output };
    }
    case "approve":
    case "deny":
    case "rerun":
    case "fail":
      return decision;
  }
}

/** A second answer is told that it came second; a call that never was is misuse. */
function alreadyAnswered(id: string, callKey: string, state: State, known: boolean): "second" {
  const [runId] = callKey.split("/");
  if (known || (state.status !== "idle" && runId === state.runId && isTerminal(state))) return "second";
  throw new PawlError(
    "no_such_call",
    `No call ${callKey} waits in session ${id}. List what waits with pendingApprovals().`,
  );
}

function noSession(id: string): PawlError {
  return new PawlError(
    "no_session",
    `There is no session ${id} in this store. List what there is, or check the store's path.`,
  );
}
