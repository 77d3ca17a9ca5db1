/**
 * The tool port: something that a model can ask for, and what it may know when it runs.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json, ToolCallPart, ToolOutput } from "../core/data/message.js";
import type { JsonSchema } from "./model.js";
import type { Services } from "./services.js";

export type ToolContext<Deps = unknown> = {
  /** Aborted when the run is, or when the call's time is up. A tool that ignores it is left behind after the grace. */
  readonly signal: AbortSignal;
  /** The provider's id of the call. */
  readonly toolCallId: string;
  /** `runId`/`modelCallIndex`/position: the same in each attempt of this call. Hand it to services that honour such keys. */
  readonly idempotencyKey: string;
  /** From 1; higher where the call runs again after a crash. */
  readonly attempt: number;
  readonly sessionId: string;
  readonly runId: string;
  /** What the agent was given for its tools. */
  readonly deps: Deps;
  /** The agent's: `usage`, `output`, and those that it was given. */
  readonly services: Services;
  /** Shows that the call is alive; seen by observers and on streams, not stored. */
  progress(note: string): void;
};

/** How a call recovers that had started when its process died: see REC-4. */
export type RecoverOption =
  | "rerun"
  | "ask"
  | "fail"
  /** Asks the outside world what became of the call. */
  | {
      readonly reconcile: (
        call: { readonly input: unknown } & Pick<
          ToolContext,
          "idempotencyKey" | "signal" | "sessionId" | "runId" | "deps"
        >,
      ) => Promise<Reconciled>;
    };

export type Reconciled =
  | { readonly status: "finished"; readonly output: unknown; readonly isError?: boolean }
  | { readonly status: "not_started" }
  | { readonly status: "unknown" };

/** A Standard Schema (zod, valibot, arktype), a JSON Schema, or a schema object of the AI SDK (`jsonSchema()`). */
export type InputSchema<Input> = StandardSchemaV1<unknown, Input> | JsonSchema | AiSdkSchema<Input>;

/** What the AI SDK's `jsonSchema()` and `zodSchema()` make. */
export type AiSdkSchema<Input> = {
  readonly jsonSchema: unknown;
  readonly validate?: ((value: unknown) => unknown) | undefined;
  readonly _type?: Input;
};

export type Tool<Input = unknown, Output = unknown> = {
  readonly name: string;
  readonly description: string;
  readonly input: InputSchema<Input>;
  /** It changes nothing: it may run without being asked for and may run again. Default false. */
  readonly readOnly?: boolean;
  /** Default `rerun` where `readOnly`, else `fail`. */
  readonly recover?: RecoverOption;
  /** A person is asked first: always, or as the input says. What throws asks. */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>);
  /** Runs alone among the calls of its step. */
  readonly sequential?: boolean;
  /** 10 minutes. */
  readonly timeoutMs?: number;
  /** How long it may take to settle after an abort; the run's `abortGraceMs` unless set. */
  readonly graceMs?: number;
  /** Above it the result is kept whole in the store and cut for the model; 50 KiB. */
  readonly maxOutputBytes?: number;
  /** Takes arguments that are not JSON, as the text that the model wrote. */
  readonly executeRaw?: (text: string, context: ToolContext) => Output | Promise<Output>;
  /** Without it the call waits until `session.provideResult` gives its result. */
  readonly execute?: (input: Input, context: ToolContext) => Output | Promise<Output>;
};

// biome-ignore lint/suspicious/noExplicitAny: inputs are contravariant; a list of tools of different inputs has no narrower type.
export type AnyTool = Tool<any, any>;

/** What permission is asked for: the call as it would run. */
export type PermissionRequest = {
  readonly callKey: string;
  readonly toolCall: ToolCallPart;
  readonly tool: { readonly name: string; readonly readOnly: boolean };
  readonly input: Json;
};

/** Where it is asked for. */
export type PermissionContext = Pick<ToolContext, "sessionId" | "runId" | "deps" | "signal">;

export type Permission =
  | "allow"
  | "ask"
  | "deny"
  | { readonly verdict: "allow" }
  | { readonly verdict: "ask"; readonly question?: string; readonly expiresInMs?: number }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: boolean };

/** Says whether a call may run. What throws denies (SEC-5). */
export type CanExecuteTool = (call: PermissionRequest, context: PermissionContext) => Permission | Promise<Permission>;

/** A result that a tool gives as it should be shown: text, JSON or parts. */
export type { ToolOutput };
