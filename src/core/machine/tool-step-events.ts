/**
 * Durable events of a running tool: its steps, and its questions to a person.
 */
import type { Fault, Json } from "../data/message.js";
import type { DataPatch } from "../data/session-data.js";
import type { WaitKind } from "./call-state.js";

type WithToolStep = {
  readonly runId: string;
  readonly callKey: string;
  /** The attempt of the call. Events of earlier attempts do not count. */
  readonly attempt: number;
  /** The name of the tool step, with a count if the name is repeated: `fetch`, `fetch#2`. */
  readonly step: string;
};

/** A value that is too large for an entry: the blob with its JSON, and its size. */
export type ValueBlob = {
  readonly blob: string;
  /** Its size in bytes. */
  readonly bytes: number;
};

export type ToolStepEventBody =
  /** A tool step that may run only once is about to begin. */
  | (WithToolStep & { readonly type: "tool_step_started" })
  /** A tool step is over. */
  | (WithToolStep & {
      readonly type: "tool_step_finished";
      /** Whether the step's function returned a value or threw. */
      readonly outcome: "ok" | "error";
      /** The step's value. Absent with the outcome `ok` if the value is `undefined`, or if `valueBlob` holds it. */
      readonly value?: Json;
      /** The blob with the value, if it is large. */
      readonly valueBlob?: ValueBlob;
      readonly fault?: Fault;
      /** How often the step was tried in its process; absent if only once. */
      readonly tries?: number;
      readonly timing: { readonly startedAt: number; readonly durationMs: number };
      /** The changes that the tool had made to the session's data until then. */
      readonly data?: DataPatch;
    })
  /** The tool asks a person. Unless `held`, it is suspended, and runs again once all its questions are answered. */
  | (WithToolStep & {
      readonly type: "tool_asked";
      /** The question for the person. */
      readonly message: string;
      /** The JSON Schema that the answer must fit. */
      readonly schema?: Json;
      /** A page where the question is settled. */
      readonly url?: string;
      /** Epoch milliseconds. Answers at or after this time do not count. */
      readonly expiresAt?: number;
      /** The changes that the tool had made to the session's data until then. */
      readonly data?: DataPatch;
      /** True if the process waits for the answer while the call keeps running. */
      readonly held?: boolean;
      /** No person is asked: the tool sleeps until `expiresAt`, or waits for a signal with this `key`. From format 3 on. */
      readonly for?: WaitKind;
      /** The key of the signal. */
      readonly key?: string;
    });
