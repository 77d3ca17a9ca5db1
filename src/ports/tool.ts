/**
 * The tool port: a function that a model can call, and the context that it runs in.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json, ToolCallPart, ToolOutput } from "../core/data/message.js";
import type { JsonSchema, ProviderToolReference, ToolSpecification } from "./model.js";
import type { Services } from "./services.js";

export type ToolContext<Deps = unknown> = {
  /** Aborted when the run is aborted or the call's time is up. After `graceMs`, Pawl no longer waits for the tool. */
  readonly signal: AbortSignal;
  /** The provider's id of the call. */
  readonly toolCallId: string;
  /**
   * `runId/modelCallIndex/position`, the same in each attempt of this call. Pass it to services that support such keys.
   */
  readonly idempotencyKey: string;
  /** From 1. It is higher if the call runs again after a crash. */
  readonly attempt: number;
  readonly sessionId: string;
  readonly runId: string;
  /** The agent's `deps`. */
  readonly deps: Deps;
  /** The agent's services: the built-in ones, and those of its author and plugins. */
  readonly services: Services;
  /** Shows that the call is alive. Observers and streams see the note; it is not stored. */
  progress(note: string): void;
};

/**
 * What follows for a call that was running when its process died. `rerun`: it runs again. `ask`: a person decides.
 * `fail`: it does not run again, and its result tells the model that it was interrupted.
 */
export type RecoverOption =
  | "rerun"
  | "ask"
  | "fail"
  /** Finds out from the outside world whether the call took effect. */
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

/** How failed attempts of a call are tried again. A call that waits for its next attempt keeps nothing else waiting. */
export type ToolRetry = {
  /** The most attempts of a call, the first one included: 1 to 20. Default: 3. */
  readonly attempts?: number;
  /** Each wait is twice as long as the one before. Up to half of it is cut. Defaults: 500 and 30,000 ms. */
  readonly backoff?: { readonly baseMs?: number; readonly maxMs?: number };
  /** Whether this error is worth another attempt. Default: each is. If the function throws, the call is not tried again. */
  readonly when?: (error: unknown) => boolean;
};

/** A Standard Schema (zod, valibot, arktype), a JSON Schema, or a schema object of the AI SDK (`jsonSchema()`). */
export type InputSchema<Input> = StandardSchemaV1<unknown, Input> | JsonSchema | AiSdkSchema<Input>;

/** The return type of the AI SDK's `jsonSchema()` and `zodSchema()`. */
export type AiSdkSchema<Input> = {
  readonly jsonSchema: unknown;
  readonly validate?: ((value: unknown) => unknown) | undefined;
  readonly _type?: Input;
};

export type Tool<Input = unknown, Output = unknown> = {
  readonly name: string;
  readonly description: string;
  readonly input: InputSchema<Input>;
  /** True if the tool changes nothing. Then it may run without approval, and may run again. Default: false. */
  readonly readOnly?: boolean;
  /** Default: `rerun` if `readOnly`, else `fail`. */
  readonly recover?: RecoverOption;
  /**
   * Whether a person is asked first; a function decides by the input. If the function throws, or takes more than 10 s, a
   * person is asked.
   */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>);
  /** Whether a call that fails is tried again. Only for tools that may be repeated: `readOnly`, or `recover: "rerun"`. */
  readonly retry?: ToolRetry;
  /** If true, a call of the tool never runs beside another call of its step. */
  readonly sequential?: boolean;
  /** In milliseconds. Default: 10 minutes. */
  readonly timeoutMs?: number;
  /** Milliseconds that a call may take to settle after an abort. Default: the run's `abortGraceMs`. */
  readonly graceMs?: number;
  /** A larger result is cut for the model; the store keeps it whole. In bytes. Default: 50 KiB. */
  readonly maxOutputBytes?: number;
  /**
   * Set if a model's provider defines the tool, as `openai.tools.shell()` does. The model is sent this instead of the
   * description and the schema. The settings are kept with the session, in plain text.
   */
  readonly provider?: ProviderToolReference;
  /** Called with the model's text if the arguments are not JSON. */
  readonly executeRaw?: (text: string, context: ToolContext) => Output | Promise<Output>;
  /**
   * A generator shows what it yields while the call runs; the result is what it returns, or else the last value that it
   * yielded. Without `execute`, the provider runs the call; or, if the provider does not, the call waits until
   * `session.provideResult` provides its result.
   */
  readonly execute?: (input: Input, context: ToolContext) => Output | Promise<Output> | AsyncIterable<Output>;
};

// biome-ignore lint/suspicious/noExplicitAny: inputs are contravariant; a list of tools of different inputs has no narrower type.
export type AnyTool = Tool<any, any>;

/** The call that needs permission, with the input that it would run with. */
export type PermissionRequest = {
  readonly callKey: string;
  readonly toolCall: ToolCallPart;
  readonly tool: { readonly name: string; readonly readOnly: boolean };
  readonly input: Json;
};

export type PermissionContext = Pick<ToolContext, "sessionId" | "runId" | "deps" | "signal">;

export type Permission =
  | "allow"
  | "ask"
  | "deny"
  | { readonly verdict: "allow" }
  | { readonly verdict: "ask"; readonly question?: string; readonly expiresInMs?: number }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: boolean };

/**
 * Decides whether a call may run. If it throws, takes more than 10 s, or gives an answer that cannot be read, the call is
 * denied.
 */
export type CanExecuteTool = (call: PermissionRequest, context: PermissionContext) => Permission | Promise<Permission>;

/** A call that cannot be used as the model wrote it. */
export type RepairRequest = {
  readonly call: ToolCallPart;
  readonly problem: {
    readonly kind: "unknown_tool" | "invalid_json" | "invalid_input";
    readonly message: string;
  };
  /** What the model was told of the tool; absent if it named none that this run may use. */
  readonly specification?: ToolSpecification;
};

/**
 * Mends a call: gives another name, another input, or both; nothing or null leaves it as it is. What comes out is checked
 * like any other call, once. A function that throws, or takes more than 10 s, mends nothing.
 */
export type RepairToolCall = (request: RepairRequest, context: PermissionContext) => Repaired | Promise<Repaired>;
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing mends nothing.
export type Repaired = { readonly name?: string; readonly input?: unknown } | null | undefined | void;

export type { ToolOutput };
