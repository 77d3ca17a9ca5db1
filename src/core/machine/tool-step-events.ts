/**
 * What a tool does durably while it runs: its steps, and its questions to a person.
 */
import type { Fault, Json } from "../data/message.js";
import type { DataPatch } from "../data/session-data.js";
import type { WaitKind } from "./call-state.js";

type WithToolStep = {
  readonly runId: string;
  readonly callKey: string;
  /** The attempt of the call. Nothing of an earlier attempt counts. */
  readonly attempt: number;
  /** The name of the tool step, with a count if the name came before: `fetch`, `fetch#2`. */
  readonly step: string;
};

/** A value that is too large for an entry: the blob with its JSON, and the size of it. */
export type ValueBlob = {
  readonly blob: string;
  /** Its size in bytes. */
  readonly bytes: number;
};

export type ToolStepEventBody =
  /** The tool step may run once only, and is about to begin. */
  | (WithToolStep & { readonly type: "tool_step_started" })
  /** A tool step is over. */
  | (WithToolStep & {
      readonly type: "tool_step_finished";
      /** Whether the function of the step gave a value or threw. */
      readonly outcome: "ok" | "error";
      /** What the step gave. Absent with the outcome `ok`: it gave `undefined`, or `valueBlob` holds the value. */
      readonly value?: Json;
      /** The blob with the value, if it is large. */
      readonly valueBlob?: ValueBlob;
      readonly fault?: Fault;
      /** How often the step was tried in its process; absent if once. */
      readonly tries?: number;
      readonly timing: { readonly startedAt: number; readonly durationMs: number };
      /** How the tool had changed the session's data by then. */
      readonly data?: DataPatch;
    })
  /** The tool asks a person. Unless `held`, it is let go, and runs again once all its questions are answered. */
  | (WithToolStep & {
      readonly type: "tool_asked";
      /** What the person is asked. */
      readonly message: string;
      /** The JSON Schema that the answer must fit. */
      readonly schema?: Json;
      /** A page where the question is settled. */
      readonly url?: string;
      /** Epoch milliseconds. From then on no answer counts. */
      readonly expiresAt?: number;
      /** How the tool had changed the session's data by then. */
      readonly data?: DataPatch;
      /** True if the process waits for the answer, and the call goes on running. */
      readonly held?: boolean;
      /** No person is asked: the tool sleeps until `expiresAt`, or waits for a signal with this `key`. From format 3 on. */
      readonly for?: WaitKind;
      /** The key of the signal. */
      readonly key?: string;
    });
