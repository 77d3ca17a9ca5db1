/**
 * The tool port: a function that a model can call, and the context that it runs in.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json, Message, ProviderMetadata, ToolOutput } from "../core/data/message.js";
import type { JsonSchema, ProviderToolReference } from "./model.js";
import type { Services } from "./services.js";
import type { SessionData, ToolData } from "./session-data.js";

/**
 * The context of a tool call. A tool that calls another one passes it on unchanged, or as `{ ...context, deps }`: the copy also has all
 * members.
 */
export type ToolContext<Deps = unknown, Params = unknown> = {
  /** Aborted when the run is aborted or the call's time is up. After `graceMs`, Pawl no longer waits for the tool. */
  readonly signal: AbortSignal;
  /** The provider's id of the call. */
  readonly toolCallId: string;
  /** Names the call in its session, as in events and approvals: `runId/modelCallIndex/position`. */
  readonly callKey: string;
  /**
   * The same in each attempt of this call, and unique among the calls of all sessions of a store. Pass it to services that support
   * idempotency keys. The `callKey`; if the sender chose the run's id, `sessionId/callKey` with the session's id percent-encoded.
   */
  readonly idempotencyKey: string;
  /** The number of this attempt, from 1. Higher if the call runs again after a crash. */
  readonly attempt: number;
  readonly sessionId: string;
  readonly runId: string;
  /** The W3C `traceparent` of this call in the run's trace, for the services that the tool calls. The same in each attempt. */
  readonly traceparent: string;
  /**
   * Who started the session: the principal of a server's request, or `by` of the first `run` or `send`. A child session has its parent's
   * principal. Absent if no principal was named.
   */
  readonly principal?: string;
  /** The agent's `deps`. */
  readonly deps: Deps;
  /** The `params` of the run, validated by the agent's schema: plain JSON, frozen. An empty object if the run has none. */
  readonly params: Params;
  /** The agent's services: the built-in ones, and those of its author and plugins. */
  readonly services: Services;
  /** What the model saw when it asked for this call, frozen: the conversation up to its answer, without the answer itself. */
  readonly messages: readonly Message[];
  /** The session's data. Tools, hooks and callers share it; it survives compaction and is copied by a fork. */
  readonly data: ToolData;
  /** Shows that the call is alive. Observers and streams receive the note; it is not stored. */
  progress(note: string): void;
  /**
   * Runs `run` once for this call and this name, and commits the result before the tool continues. A tool that runs again after a crash
   * gets that result, and `run` is not called. A repeated name is counted: `fetch`, `fetch#2`.
   *
   * Resolves to a copy of the result as plain JSON, at most 4 MiB. If the run is aborted, a step that has not begun rejects with the reason
   * of the signal. If another process takes over the call, the promise never settles: free resources when `signal` is aborted, not in
   * `finally`.
   *
   * @throws StepError if `run` throws, takes too long, or may not run again; the same error in each run of the tool
   */
  step<T>(name: string, run: (step: StepContext) => T | Promise<T>, options?: StepOptions): Promise<Jsonified<T>>;
  /**
   * Asks a person. The tool is suspended, and runs again from its beginning with the answer: only in tools with `durable: true`. The call
   * waits like one that needs an approval.
   *
   * @throws StepError `not_durable`; `step_failed` if the answer does not fit the schema
   */
  ask<T = Json>(question: Question<T>): Promise<Answered<T>>;
  /**
   * Sleeps for `ms` milliseconds or until a time. No process holds the tool meanwhile: it runs again when the time has come, and this call
   * then returns. Only for tools with `durable: true`. At most ten years.
   *
   * @throws StepError `not_durable`; PawlError `bad_input`
   */
  sleep(name: string, options: SleepOptions): Promise<void>;
  /**
   * Waits for a signal with this key, which any process can send (`client.signal`). No process holds the tool meanwhile. Only for tools
   * with `durable: true`.
   *
   * A signal that was sent earlier counts if the store still keeps it and this call has not had it. A loop therefore gets each signal once,
   * in the order in which they were sent.
   *
   * @throws StepError `not_durable`; `step_failed` after 20 signals whose values do not fit the schema; PawlError `bad_input`;
   * `store_lacks` if the store keeps no signals
   */
  waitFor<T = Json>(name: string, options: WaitForOptions<T>): Promise<Signalled<T>>;
};

/** How long a tool sleeps. */
export type SleepOptions =
  | {
      /** Milliseconds. */
      readonly ms: number;
      readonly until?: never;
    }
  | {
      /** When the sleep ends: epoch milliseconds, a `Date`, or an ISO 8601 string with a UTC offset. */
      readonly until: number | Date | string;
      readonly ms?: never;
    };

/** Which signal a tool waits for, and how long. */
export type WaitForOptions<T = Json> = {
  /** The key that the sender uses: 1 to 200 printable ASCII characters. */
  readonly key: string;
  /** The schema of the value. Signals with other values are skipped, and the wait continues. Default: any JSON. */
  readonly schema?: InputSchema<T>;
  /** Milliseconds. 0 only checks whether there is a signal. Default: the wait does not expire. */
  readonly timeoutMs?: number;
};

/** The outcome of a wait for a signal. */
export type Signalled<T = Json> =
  /** A signal arrived. */
  | {
      readonly type: "signalled";
      /** The value that was sent with it. */
      readonly value: T;
      /** The id of the signal. */
      readonly id: string;
      /** Who sent it, according to the sender. */
      readonly by?: string;
    }
  /** No signal was sent in time. */
  | { readonly type: "expired" };

/** Passed to the function of a tool step. */
export type StepContext = {
  /** The call's idempotency key, "/" and the name of the step: the same in every attempt. Pass it to services that support such keys. */
  readonly idempotencyKey: string;
  /** Aborted when the step's time is up, and when the call is aborted. An abort does not reach a step with `cleanup`. */
  readonly signal: AbortSignal;
  /** The number of this try, from 1. */
  readonly tries: number;
};

/** Options of a tool step. */
export type StepOptions = {
  /**
   * If true, the start is committed before `run` is called. After a crash in between, `run` is not called again: the step throws a
   * StepError `step_in_doubt`. Default: false, and `run` is called again with the same key.
   */
  readonly once?: boolean;
  /** Retries `run` in this process if it throws. Only the last outcome is kept. Default: no retries. */
  readonly retry?: ToolRetry;
  /** Milliseconds for each try. Default: limited only by the call's own time. */
  readonly timeoutMs?: number;
  /** If true, the step may begin and continue after an abort, within the call's grace period. Default: false. */
  readonly cleanup?: boolean;
};

/** A question that a tool asks a person. */
export type Question<T = Json> = {
  /** The text that the person reads: at most 10,000 characters. */
  readonly message: string;
  /** The name of this question among the tool's steps. Default: `ask`. */
  readonly name?: string;
  /** The schema of the answer. Default: any JSON. */
  readonly schema?: InputSchema<T>;
  /** A page where the person can settle the question. */
  readonly url?: string;
  /** Milliseconds until the question expires. The tool then gets `expired`. Default: it does not expire. */
  readonly expiresInMs?: number;
};

/** The outcome of a question. */
export type Answered<T = Json> =
  /** A person answered. */
  | {
      readonly type: "answered";
      /** What the person answered. */
      readonly value: T;
      readonly by?: string;
    }
  /** A person declined to answer. */
  | { readonly type: "declined"; readonly note?: string }
  /** No answer came in time. */
  | { readonly type: "expired" };

/** The type of a value after a round trip through JSON. */
export type Jsonified<T> = unknown extends T
  ? Json
  : T extends string | number | boolean | null | undefined
    ? T
    : undefined extends T
      ? undefined
      : T extends Date | bigint | RegExp | Error
        ? string
        : T extends { toJSON(): infer Plain }
          ? Jsonified<Plain>
          : T extends ReadonlySet<infer Item>
            ? Jsonified<Item>[]
            : T extends ReadonlyMap<string, infer Item>
              ? { [key: string]: Jsonified<Item> }
              : T extends symbol | ((...given: never) => unknown)
                ? never
                : { -readonly [Key in keyof T]: Jsonified<T[Key]> };

/** A finished tool step, for a tool that reconciles its call. */
export type FinishedToolStep = {
  readonly step: string;
  /** How it ended. */
  readonly outcome: "ok" | "error" | "answered";
  /** The value that it returned, or the person's answer. */
  readonly value?: Json;
  /** The message of its error. */
  readonly message?: string;
};

/**
 * What happens to a call that was running when its process died. `rerun`: it runs again. `ask`: a person decides. `fail`: it does not run
 * again, and its result tells the model that it was interrupted.
 */
export type RecoverOption<Deps = unknown, Params = unknown> =
  | "rerun"
  | "ask"
  | "fail"
  /** Finds out from the outside world whether the call took effect. */
  | {
      /** Finds out what happened to a call that had started in a process that died. */
      readonly reconcile: (
        call: { readonly input: unknown } & Pick<
          ToolContext<Deps, Params>,
          "callKey" | "idempotencyKey" | "signal" | "sessionId" | "runId" | "principal" | "deps" | "params"
        > & {
            /** The finished tool steps of the call, in log order. */
            readonly steps: readonly FinishedToolStep[];
          },
      ) => Promise<Reconciled>;
    };

/** What happened to a call that had started. */
export type Reconciled =
  /** The call took effect, and this is its result. */
  | {
      readonly status: "finished";
      /** The tool's output. */
      readonly output: unknown;
      readonly isError?: boolean;
    }
  /** The call had no effect: it runs again. */
  | { readonly status: "not_started" }
  /** It cannot be known: a person is asked. */
  | { readonly status: "unknown" };

/** How failed attempts of a call are retried. A call that waits for its next attempt does not delay other calls. */
export type ToolRetry = {
  /** The maximum number of attempts of a call, including the first: 1 to 20. Default: 3. */
  readonly attempts?: number;
  /** Each delay is twice as long as the one before, shortened by a random amount of up to half. Defaults: 500 and 30,000 ms. */
  readonly backoff?: {
    /** The delay before the second attempt, in milliseconds. Default: 500. */
    readonly baseMs?: number;
    /** The maximum delay, in milliseconds. Default: 30,000. */
    readonly maxMs?: number;
  };
  /** Whether to retry after this error. Default: always. If the function throws, the call is not retried. */
  readonly when?: (error: unknown) => boolean;
};

/** A Standard Schema (zod, valibot, arktype), a JSON Schema, or a schema object of the AI SDK (`jsonSchema()`). */
export type InputSchema<Input> = StandardSchemaV1<unknown, Input> | JsonSchema | AiSdkSchema<Input>;

/** The return type of the AI SDK's `jsonSchema()` and `zodSchema()`. */
export type AiSdkSchema<Input> = {
  /** The JSON Schema. */
  readonly jsonSchema: unknown;
  /** Validates a value against the schema that this one was made from. */
  readonly validate?: ((value: unknown) => unknown) | undefined;
  /** Only for the type. */
  readonly _type?: Input;
};

/** A tool: a function that a model can call. */
export type Tool<Input = unknown, Output = unknown, Deps = unknown, Params = unknown> = {
  /** Never set. Lets the compiler report which part of `deps` a tool needs and an agent lacks. */
  readonly "~deps"?: (needed: Deps) => void;
  /** The same for the `params` of a run. */
  readonly "~params"?: (needed: Params) => void;
  /** The name by which the model calls it: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string;
  /** What the tool does and when to use it, for the model. */
  readonly description: string;
  /** The schema of its input. An input that does not fit is returned to the model as an error. */
  readonly input: InputSchema<Input>;
  /**
   * Forgives common mistakes of small models: properties that are not in the schema are dropped, and numbers and booleans that are written
   * as strings are parsed. Nothing else is changed, and the log records each change. Works with a JSON Schema, or a schema that can be
   * converted to one. Default: false; the tools of `pawl/tools` set it.
   */
  readonly lenientInput?: boolean;
  /** True if the tool changes nothing. It may then run without approval, and may be repeated. Default: false. */
  readonly readOnly?: boolean;
  /**
   * What happens to a call whose process died while it ran, so that its outcome is unknown. "rerun": it runs again. "ask": a person
   * decides. "fail": the model is told that the outcome is unknown. `{ reconcile }`: a function of the tool finds out. Default: `rerun` if
   * `readOnly` or `durable`, otherwise `fail`.
   */
  readonly recover?: RecoverOption<Deps, Params>;
  /**
   * Whether a person is asked first. A function decides from the input, the conversation and the session's data. If the function throws or
   * takes more than 10 s, a person is asked.
   */
  readonly needsApproval?:
    | boolean
    | ((input: Input, context: PermissionContext<Deps, Params>) => boolean | Promise<boolean>);
  /**
   * Declares that every side effect of `execute` is in a step: the call may be suspended between two steps, and runs again from its
   * beginning. `recover` is then `rerun`, and the tool may ask (`ctx.ask`). Default: false.
   */
  readonly durable?: boolean;
  /** Whether a failed call is retried. Only for tools that may be repeated: `readOnly`, `durable`, or `recover: "rerun"`. */
  readonly retry?: ToolRetry;
  /** If true, a call of the tool never runs in parallel with another call of its step. */
  readonly sequential?: boolean;
  /** In milliseconds. Default: 10 minutes. */
  readonly timeoutMs?: number;
  /** Milliseconds that a call may take to settle after an abort. Default: the run's `abortGraceMs`. */
  readonly graceMs?: number;
  /** If true, changes of `context.data` are committed even if the call ends in an error. Default: they are dropped. */
  readonly keepDataOnError?: boolean;
  /** The maximum size of a result, in bytes. A larger result is cut for the model; the store keeps all of it. Default: 50 KiB. */
  readonly maxOutputBytes?: number;
  /**
   * Turns a result into what the model reads; `execute` may return anything. The tool's own return value stays in the log, for people and
   * hooks: `returned` of the call's `tool_result`, cut above 50 KiB like other outputs. Not called for a call that failed or that ends the
   * run. If the function throws or takes more than a minute, the model is told so instead. Default: the model reads what the tool returned.
   */
  toModelOutput?(result: ToolResult<Input, Output>): unknown;
  /**
   * Set if a model's provider defines the tool, as `openai.tools.shell()` does. The model is sent this instead of the description and the
   * schema. The settings are stored with the session, in plain text.
   */
  readonly provider?: ProviderToolReference;
  /** Provider options that are sent with the tool, keyed by provider name: `{ anthropic: { eagerInputStreaming: true } }`. Plain JSON. */
  readonly providerOptions?: ProviderMetadata;
  /** Whether the provider should force inputs to fit the schema, if it can. Default: the provider decides. */
  readonly strict?: boolean;
  /**
   * If true, requests do not include the tool: the model finds it with `find_tools`, and calls it through `call_tool`. Everything else
   * works as for any other tool. "auto": only if the tools with "auto" together take more than a tenth of the model's context window.
   * Default: false.
   */
  readonly defer?: boolean | "auto";
  /** Example inputs that show the model how to call the tool. Plain JSON. Not sent to providers that do not support examples. */
  readonly inputExamples?: readonly Json[];
  /** Called with the model's text if the arguments are not JSON. */
  readonly executeRaw?: (text: string, context: ToolContext<Deps, Params>) => Output | Promise<Output>;
  /**
   * Runs the tool. A generator's yielded values are shown while the call runs; the result is its return value, or else the last value that
   * it yielded. Without `execute`, the provider runs the call; if the provider does not, the call waits until `session.provideResult`
   * provides its result.
   */
  readonly execute?: (
    input: Input,
    context: ToolContext<Deps, Params>,
  ) => Output | Promise<Output> | AsyncIterable<Output>;
};

/** A tool's result, as `toModelOutput` receives it. */
export type ToolResult<Input = unknown, Output = unknown> = {
  readonly toolCallId: string;
  /** The input that the tool ran with. */
  readonly input: Input;
  /**
   * The tool's return value; for a generator, its result. Plain JSON if an `afterToolCall` hook replaced it, or if it came from outside.
   */
  readonly output: Output;
};

/** A tool with any input and output. */
// biome-ignore lint/suspicious/noExplicitAny: inputs are contravariant; a list of tools of different inputs has no narrower type.
export type AnyTool = Tool<any, any, any, any>;

/** Passed to the checks of a call, in addition to the call itself. */
export type PermissionContext<Deps = unknown, Params = unknown> = Pick<
  ToolContext<Deps, Params>,
  "sessionId" | "runId" | "principal" | "toolCallId" | "deps" | "params" | "signal" | "messages"
> & {
  /** The session's data, frozen. */
  readonly data: SessionData;
};

/** A call to run, as passed to `runTool`. */
export type ToolRun = {
  /** The name of the calling agent. */
  readonly agent: string;
  /** The tool as its author declared it. */
  readonly tool: AnyTool;
  /** The validated input, with the defaults of the tool's schema. */
  readonly input: unknown;
  /** The context that the tool's `execute` would get. */
  readonly context: ToolContext;
};

/**
 * Runs a call in place of the tool's own `execute`, which `own` calls. The return value is the tool's result, and a thrown error is the
 * tool's error. Validation, approval, hooks, retries, limits and the log remain the loop's job.
 */
export type RunTool = (run: ToolRun, own: () => unknown) => unknown;

export type { ToolOutput };
