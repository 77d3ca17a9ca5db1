/**
 * The extension `io.modelcontextprotocol/tasks` of protocol 2026-07-28: a server may answer a call with a task, and is polled
 * until the task is over. What the server reports is checked and bounded here.
 */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ErrorCode } from "../../errors.js";
import type { InputResponses } from "./collect-answers.js";
import { importSdk } from "./import-sdk.js";
import { shortenUntrusted } from "./shorten-untrusted.js";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** A task, as the server names it in its reply to a call. */
export type Task = {
  readonly taskId: string;
  /** The interval between two polls, as the server wants it, in milliseconds. */
  readonly intervalMs: number;
};

/** The task has no result, and never will. */
export type EndedTask = {
  readonly type: "ended";
  readonly reason: string;
  /** The code of the error. Default: the error has none. */
  readonly code?: ErrorCode;
};

/** The state of a task. */
export type TaskState<Result> = {
  /** Milliseconds until the next poll; undefined if the server does not say. */
  readonly intervalMs: number | undefined;
  /** The server's description of its progress. Untrusted text. */
  readonly message: string | undefined;
} & (
  | { readonly type: "working" }
  | { readonly type: "asks"; readonly requests: { readonly [key: string]: unknown } }
  | { readonly type: "completed"; readonly result: Result }
  | EndedTask
);

/**
 * The requests about tasks. Each throws an Error if the server cannot be reached, or refuses.
 * @typeParam Result what a task results in: JSON
 */
export type TaskMethods<Result> = {
  readonly get: (taskId: string, signal: AbortSignal) => Promise<TaskState<Result>>;
  readonly update: (taskId: string, inputResponses: InputResponses, signal: AbortSignal) => Promise<void>;
  readonly cancel: (taskId: string, signal: AbortSignal) => Promise<void>;
};

const minIntervalMs = 100;
const maxIntervalMs = 3_600_000;
export const defaultIntervalMs = 1_000;
/** As long as the ids of Pawl's own tasks may be. */
const maxTaskIdCharacters = 8_000;
const maxMessageCharacters = 500;
const maxReasonCharacters = 4_000;

/** Unchecked data of a server. */
type Untrusted = { readonly [field: string]: unknown };

/** @throws Error if the reply does not name a task */
export function parseTask(untrusted: unknown): Task {
  const { taskId, pollIntervalMs } = Object(untrusted) as Untrusted;
  if (typeof taskId !== "string" || !isTaskId(taskId)) throw new Error("it answered with a task that has no valid id");
  return { taskId, intervalMs: boundInterval(pollIntervalMs) ?? defaultIntervalMs };
}

/** Headers of requests repeat the id, and half of a character cannot be repeated. */
function isTaskId(text: string): boolean {
  return text !== "" && text.length <= maxTaskIdCharacters && !/\p{Surrogate}/u.test(text);
}

function boundInterval(untrusted: unknown): number | undefined {
  if (typeof untrusted !== "number" || Number.isNaN(untrusted)) return undefined;
  return Math.min(maxIntervalMs, Math.max(minIntervalMs, untrusted));
}

type Request = (method: string, params: object, signal: AbortSignal) => Promise<unknown>;

/** @param meta added to the parameters of each request: the span that it belongs to */
export function createTaskMethods(request: Request, meta: object): TaskMethods<CallToolResult> {
  return {
    async get(taskId, signal) {
      const [sdk, state] = await Promise.all([importSdk(), request("tasks/get", { taskId, ...meta }, signal)]);
      const validate = sdk.specTypeSchemas.CallToolResult["~standard"].validate;
      return parseTaskState(state, (result) => {
        const validated = validate(result);
        return validated.issues === undefined ? validated.value : null;
      });
    },
    async update(taskId, inputResponses, signal) {
      await request("tasks/update", { taskId, inputResponses, ...meta }, signal);
    },
    async cancel(taskId, signal) {
      await request("tasks/cancel", { taskId, ...meta }, signal);
    },
  };
}

/** @param parseResult returns null for a value that is not the result of a tool */
function parseTaskState(
  untrusted: unknown,
  parseResult: (result: unknown) => CallToolResult | null,
): TaskState<CallToolResult> {
  const { status, statusMessage, pollIntervalMs, inputRequests, result, error } = Object(untrusted) as Untrusted;
  const message = typeof statusMessage === "string" ? shortenUntrusted(statusMessage, maxMessageCharacters) : undefined;
  const common = { intervalMs: boundInterval(pollIntervalMs), message };
  switch (status) {
    case "working":
      return { ...common, type: "working" };
    case "input_required":
      return { ...common, type: "asks", requests: { ...Object(inputRequests) } };
    case "completed": {
      const toolResult = parseResult(result);
      if (toolResult !== null) return { ...common, type: "completed", result: toolResult };
      return { ...common, type: "ended", reason: "the task was completed, but its result is not that of a tool" };
    }
    case "failed":
      return {
        ...common,
        type: "ended",
        reason: `the task failed: ${readErrorMessage(error) ?? message ?? "no reason given"}`,
      };
    case "cancelled":
      return { ...common, type: "ended", reason: `the task was cancelled: ${message ?? "no reason given"}` };
    default:
      return { ...common, type: "ended", reason: "the task has an unknown status" };
  }
}

function readErrorMessage(error: unknown): string | undefined {
  const { message } = Object(error) as Untrusted;
  return typeof message === "string" && message !== "" ? shortenUntrusted(message, maxReasonCharacters) : undefined;
}
