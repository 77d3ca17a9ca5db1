/**
 * The public type of a session handle: its options and methods.
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

/** The options of input that is sent to a session. */
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
   * What happens while a run is active. "queue" (default): the input becomes the next run. "steer": it is added before the next model call.
   * "interrupt": the run is aborted, and the input becomes the next run, ahead of any queued runs. "reject": `send` throws `session_busy`.
   */
  readonly mode?: "queue" | "steer" | "interrupt" | "reject";
  /** As in `run`, but without functions, because any process may execute the run. */
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
  /** Sends input: starts a run, or joins the run in progress. Resolves to the run's id when the input is durable. */
  readonly send: (input: Input, options?: SendOptions) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /**
   * Starts the session with an existing conversation, before its first run: Pawl messages, or `ModelMessage`s or `UIMessage`s of the AI
   * SDK. Resolves when the conversation is durable.
   * @throws PawlError `bad_input` if the session exists, or if the messages are not a complete conversation
   */
  readonly seed: (messages: History, options?: HistoryOptions) => Promise<void>;
  /** `send` with mode `steer`. Never starts a session. @throws PawlError `no_session`, `bad_input` */
  readonly steer: (input: Input, options?: SteerOptions & Sender) => Promise<void>;
  /**
   * Aborts the current run, or the named run, which may still be queued. This includes a run that this process is just requesting.
   * @throws PawlError `no_session`, `bad_input`
   */
  readonly abort: AbortMethod;
  /**
   * Summarizes the conversation now, even if it would still fit. During a run, this happens before the next model call, and messages that
   * no model has seen yet are kept. The process that holds the session does the work. Resolves to the outcome. If a compaction is already
   * in progress, the call joins it. `abort` stops a compaction of a session at rest.
   * @throws PawlError `no_session`, `bad_input`, `store_failed`
   */
  readonly compact: CompactMethod;
  /**
   * Continues an interrupted run, and returns its result. A child session of this agent is continued by the agent that the tool calls. If
   * this agent has returned a run as interrupted, and another process has ended that run since, returns that run's result.
   * @throws PawlError `no_session`, `run_finished` if there is nothing left to do
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
   * Leaves the session and its child sessions to other processes: starts nothing more for them here, waits up to `graceMs` milliseconds
   * (default: 5,000) for running calls, and releases the leases. A caller that waits here for a run gets the result `interrupted`, with the
   * reason `left`. The session is then due for other processes, and `resume` claims it again. Does nothing if the session is not in this
   * process.
   * @throws PawlError `store_failed` if the store cannot list the children; the session itself is still left
   */
  readonly leave: (options?: { readonly graceMs?: number }) => Promise<void>;
  /**
   * The result of the named run or, without a name, of the current or last run. Null if there is none, or if the run has
   * neither ended nor waits for a person, a time or a signal. @throws PawlError `no_session`, `no_such_run`
   */
  readonly result: (runId?: string) => Promise<RunResult | null>;
  /**
   * Copies the history up to the entry `at` (default: all) into a new session. A run that was in progress at that entry ends in the copy.
   * The runs keep their ids, so a request with one of these ids starts no run in the copy either.
   * @throws PawlError `no_session`; `bad_input` if there is no such entry; `session_busy` if the new id is taken
   *
   * @example
   * ```ts
   * // The same conversation, continued differently from here on. The original session does not change.
   * const copy = await session.fork({ sessionId: "customer-7-short" });
   * await copy.send("Answer the last question again, in one sentence.");
   * ```
   */
  readonly fork: (options?: { readonly at?: number; readonly sessionId?: string }) => Promise<Session>;
  /**
   * Replays the log with the current code and agent (its tools' schemas, policies, retries), and returns the first difference. Models and
   * tools return what was recorded. Nothing outside is called, and nothing is written.
   * @throws PawlError `no_session`, `agent_mismatch`, `root_mismatch`
   */
  readonly replay: (options?: ReplayOptions) => Promise<Replay>;
  /** The committed state of the session. */
  readonly state: () => Promise<State>;
  /** The conversation as the model sees it. */
  readonly messages: () => Promise<readonly Message[]>;
  /**
   * Public events after an entry: first those of the log, then live events and deltas. The iterator ends when the consumer leaves the loop
   * or `signal` is aborted; items that have already arrived are still returned.
   *
   * @example
   * ```ts
   * let cursor: string | undefined; // stored by the client, to continue after a disconnect
   * for await (const item of session.events({ after: cursor ?? 0, follow: false })) {
   *   if ("index" in item) cursor = `${item.seq}.${item.index}`;
   *   if (item.type === "tool_call") console.log(item.name, item.input);
   * }
   * ```
   */
  readonly events: {
    (
      options: EventsOptions & {
        /** Includes the items of child sessions. */
        readonly children: true;
      },
    ): AsyncGenerator<FamilyItem, void, undefined>;
    (options?: EventsOptions): AsyncGenerator<StreamItem, void, undefined>;
  };
};

/** Pass the run options that the log does not store (`output`, `dependencyOverrides`) again, if the run had any. */
export type Resume = {
  <Output>(options: ResumeOptions & OutputOptions<Output>): Promise<RunResult<Output>>;
  (options?: ResumeOptions): Promise<RunResult>;
};
