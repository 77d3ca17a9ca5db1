/**
 * What a session's handle offers: the type `Session`, its options, and how each of its methods is used.
 */

import type { Message } from "../../core/data/message.js";
import type { State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { PlainStopCondition } from "../../ports/stop-condition.js";
import type { AbortMethod, Answers } from "../agent/answer-types.js";
import type { DelayOptions } from "../agent/delay.js";
import type { History, HistoryOptions } from "../agent/history.js";
import type { Input } from "../agent/input-parts.js";
import type { ResumeOptions } from "../agent/local-run-options.js";
import type { Replay, ReplayOptions } from "../agent/replay-types.js";
import type { OutputOptions, Sender, StartOptions, SteerOptions } from "../agent/run-input.js";
import type { EventsOptions, FamilyItem, StreamItem } from "../agent/stream-types.js";
import type { CompactMethod } from "./compaction.js";
import type { Delayed } from "./delayed.js";
import type { Redacting } from "./redact.js";
import type { Renaming } from "./rename.js";
import type { DataAccess } from "./session-data.js";

/** The options of an input that is sent to a session. */
export type SendOptions = Pick<
  StartOptions,
  | "signal"
  | "runId"
  | "limits"
  | "agent"
  | "systemPrompt"
  | "activeTools"
  | "toolChoice"
  | "interactive"
  | "providerOptions"
  | "model"
  | "settings"
  | "params"
  | "output"
  | "traceparent"
> & {
  /**
   * What happens while a run is active. "queue" (default): the input becomes the next run. "steer": it is added before
   * the next model call. "interrupt": the run is aborted, and the input becomes the next run, ahead of those that are queued.
   * "reject": `send` throws `session_busy`.
   */
  readonly mode?: "queue" | "steer" | "interrupt" | "reject";
  /** As in `run`, without functions: any process may carry the run out. */
  readonly stopWhen?: PlainStopCondition | readonly PlainStopCondition[];
} & Sender &
  SteerOptions &
  DelayOptions;

type AnswersAndData = Answers & DataAccess & Delayed & Renaming & Redacting;

/**
 * A handle of a session. Reading an unknown session throws a PawlError `no_session`.
 *
 * @example
 * ```ts
 * const session = agent.session("customer-7"); // begins with its first input, or is found in the store
 * const { runId } = await session.send("Which invoices are open?");
 * for await (const item of session.events())
 *   if (item.type === "final" && item.runId === runId) break; // the run has ended
 * const result = await session.result(runId);
 * if (result?.status === "completed") console.log(result.text);
 * ```
 */
export type Session = AnswersAndData & {
  /** The id of the session. */
  readonly id: string;
  /** Sends input: starts a run, or joins the run under way. Resolves to the run's id when the input is durable. */
  readonly send: (input: Input, options?: SendOptions) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /**
   * Begins the session with a conversation from elsewhere, before its first run: messages of Pawl, or `ModelMessage`s
   * or `UIMessage`s of the AI SDK. Resolves when it is durable.
   * @throws PawlError `bad_input` if the session exists, or if the messages are no whole conversation
   */
  readonly seed: (messages: History, options?: HistoryOptions) => Promise<void>;
  /** `send` with mode `steer`. Starts no session. @throws PawlError `no_session`, `bad_input` */
  readonly steer: (input: Input, options?: SteerOptions & Sender) => Promise<void>;
  /**
   * Aborts the run under way, or the named run, which may still be queued. A run that this process is just requesting is
   * aborted, too. @throws PawlError `no_session`, `bad_input`
   */
  readonly abort: AbortMethod;
  /**
   * Sums the conversation up now, also if it would still fit. In a run that is under way, this comes before its next model
   * call, and messages that no model has seen yet stay. The process that holds the session does it. Resolves to what became
   * of it. A compaction that is under way already is the one. `abort` at rest stops it.
   * @throws PawlError `no_session`, `bad_input`, `store_failed`
   */
  readonly compact: CompactMethod;
  /**
   * Carries on an interrupted run, and gives its result. The agent behind the tool carries on a child session of this
   * agent. If another process has ended a run meanwhile that this agent gave out as interrupted, gives the result of
   * that run.
   * @throws PawlError `no_session`, `run_finished` if nothing is left to do
   *
   * @example
   * ```ts
   * // In a new process, after the one that drove the run was killed:
   * const result = await agent.session("customer-7").resume();
   * if (result.status === "interrupted") console.log("not ended yet:", result.reason);
   * if (result.status === "completed") console.log(result.text);
   * ```
   */
  readonly resume: Resume;
  /**
   * Leaves the session and its child sessions to other processes: starts nothing more of them here, waits up to `graceMs`
   * milliseconds (default: 5,000) for running calls, and gives the leases back. A caller that waits here for a run gets the result
   * `interrupted`, with the reason `left`. The session is due for others then, and `resume` takes it up again. Does nothing if
   * the session is not in this process.
   * @throws PawlError `store_failed` if the store does not say which children there are; the session itself is left
   */
  readonly leave: (options?: { readonly graceMs?: number }) => Promise<void>;
  /**
   * The result of the named run or, without a name, of the present or last run; null if there is none, or if the run has
   * neither ended nor waits for somebody. @throws PawlError `no_session`, `no_such_run`
   */
  readonly result: (runId?: string) => Promise<RunResult | null>;
  /**
   * Copies the history up to the entry `at` (default: all) into a new session. A run that was under way there ends in
   * the copy.
   * @throws PawlError `no_session`; `bad_input` if there is no such entry; `session_busy` if the new id is taken
   *
   * @example
   * ```ts
   * // The same conversation, asked otherwise from here on. The session itself stays as it is.
   * const copy = await session.fork({ sessionId: "customer-7-short" });
   * await copy.send("Answer the last question again, in one sentence.");
   * ```
   */
  readonly fork: (options?: { readonly at?: number; readonly sessionId?: string }) => Promise<Session>;
  /**
   * Runs the log again with the present code and agent (its tools' schemas, policies, retries), and gives the first
   * difference. Models and tools return what was recorded. Nothing outside is touched, and nothing is written.
   * @throws PawlError `no_session`, `agent_mismatch`, `root_mismatch`
   */
  readonly replay: (options?: ReplayOptions) => Promise<Replay>;
  /** The committed state of the session. */
  readonly state: () => Promise<State>;
  /** The conversation as the model sees it. */
  readonly messages: () => Promise<readonly Message[]>;
  /**
   * Public events after an entry: first those of the log, then live events and deltas. The iterator ends when the
   * consumer leaves the loop or `signal` is aborted; items that have arrived by then are still given.
   *
   * @example
   * ```ts
   * let place: string | undefined; // kept by the client: where it goes on after it was cut off
   * for await (const item of session.events({ after: place ?? 0, follow: false })) {
   *   if ("index" in item) place = `${item.seq}.${item.index}`;
   *   if (item.type === "tool_call") console.log(item.name, item.input);
   * }
   * ```
   */
  readonly events: {
    (
      options: EventsOptions & {
        /** The items of child sessions come, too. */
        readonly children: true;
      },
    ): AsyncGenerator<FamilyItem, void, undefined>;
    (options?: EventsOptions): AsyncGenerator<StreamItem, void, undefined>;
  };
};

/** Pass the options of the run that the log does not store (`output`, `dependencyOverrides`) again, if it had any. */
export type Resume = {
  <Output>(options: ResumeOptions & OutputOptions<Output>): Promise<RunResult<Output>>;
  (options?: ResumeOptions): Promise<RunResult>;
};
