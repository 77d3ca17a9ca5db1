/**
 * Runs as tasks: the extension `io.modelcontextprotocol/tasks` of protocol 2026-07-28. A client that declares the extension gets
 * a task for its call, and polls it.
 *
 * 1. A run is a task, and the log is its record. The task's id names the session and the run, so any process with the store can
 *    serve it. The id does not grant access: each request checks whether the caller may use the session.
 * 2. The calls that wait for a person are the task's input requests. If a call gets two answers, the first one counts.
 * 3. The status `failed` is for protocol errors. A run that failed is a completed task whose result is an error.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { PendingApproval } from "../../index.js";
import { createForm, type Form } from "../approval-forms.js";
import { describeWaits } from "../describe-waits.js";
import { formatInterruptId } from "../interrupt-id.js";
import { type EndedRun, readLastTime, readRunStatus } from "../run-status.js";
import type { CalledSession, McpHost } from "./host.js";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** The run behind a task. */
export type TaskRun = {
  readonly sessionId: string;
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
};

/** The state of a task in the protocol's form. */
export type TaskView = {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "cancelled";
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** No limit: a session is kept until it is deleted. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
  readonly inputRequests?: { readonly [key: string]: unknown };
  readonly result?: object;
};

const pollIntervalMs = 1_000;
/** The interval for a run that sleeps, or whose questions this client cannot answer. */
const slowPollIntervalMs = 30_000;
const maxTaskIdCharacters = 8_000;

/** The id is plain ASCII without spaces, because HTTP requests repeat it in a header. */
export function formatTaskId({ sessionId, runId, createdAt }: TaskRun): string {
  return [sessionId, runId, createdAt.toString(36)].map(encodeURIComponent).join("/");
}

/** Null if the string is not a task id. */
export function parseTaskId(text: string): TaskRun | null {
  if (text.length > maxTaskIdCharacters) return null;
  try {
    const [sessionId = "", runId = "", time = ""] = text.split("/", 3).map(decodeURIComponent);
    const createdAt = Number.parseInt(time, 36);
    const run = { sessionId, runId, createdAt };
    // Each task has exactly one id. Other encodings of it are unknown ids.
    return sessionId !== "" && runId !== "" && isTime(createdAt) && formatTaskId(run) === text ? run : null;
  } catch {
    return null;
  }
}

function isTime(milliseconds: number): boolean {
  return !Number.isNaN(new Date(milliseconds).getTime());
}

/** The reply to a call: the task has just begun. */
export function createNewTask(run: TaskRun): TaskView & { readonly resultType: "task" } {
  return { resultType: "task", ...createView(run, run.createdAt), status: "working" };
}

function createView(run: TaskRun, lastUpdatedAt: number) {
  return {
    taskId: formatTaskId(run),
    createdAt: new Date(run.createdAt).toISOString(),
    lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
    ttlMs: null,
    pollIntervalMs,
  };
}

export type TaskReading = {
  readonly session: CalledSession;
  readonly run: TaskRun;
  readonly host: Pick<McpHost, "whereToAnswer">;
  /** Whether this client can be asked, and may answer. */
  readonly canAsk: boolean;
  readonly toElicitation: (form: Form) => object;
  readonly toResult: (result: EndedRun) => object;
};

/** Reads the current state of the task from the log; null if the session has no such run. */
export async function readTask(reading: TaskReading): Promise<TaskView | null> {
  const { session, run, canAsk, host } = reading;
  const state = await session.state();
  const view = createView(run, (await readLastTime(session, state.seq)) ?? run.createdAt);
  const status = await readRunStatus(session, run.runId, state);
  switch (status?.type) {
    case undefined:
      return null;
    case "working":
      return { ...view, status: "working" };
    case "ended":
      return status.result.status === "aborted"
        ? { ...view, status: "cancelled", statusMessage: status.result.text }
        : { ...view, status: "completed", result: reading.toResult(status.result) };
    case "waits":
      return {
        ...view,
        pollIntervalMs: slowPollIntervalMs,
        status: "working",
        statusMessage: describeWaits(status.waits),
      };
    case "asks": {
      const inputRequests = canAsk ? createInputRequests(status.approvals, reading) : {};
      if (Object.keys(inputRequests).length > 0) return { ...view, status: "input_required", inputRequests };
      const statusMessage = `The run is waiting for a person. ${host.whereToAnswer(run.sessionId)}`;
      return { ...view, pollIntervalMs: slowPollIntervalMs, status: "working", statusMessage };
    }
  }
}

/** The questions of a run that waits for a person. Empty if it does not wait for one; null if there is no such run. */
export async function listQuestions(session: CalledSession, runId: string): Promise<readonly PendingApproval[] | null> {
  const status = await readRunStatus(session, runId);
  if (status === null) return null;
  return status.type === "asks" ? status.approvals : [];
}

function createInputRequests(approvals: readonly PendingApproval[], { toElicitation }: TaskReading) {
  const requests: { [key: string]: unknown } = {};
  for (const approval of approvals) {
    const form = createForm(approval);
    if (form !== null)
      requests[formatRequestKey(approval)] = { method: "elicitation/create", params: toElicitation(form) };
  }
  return requests;
}

/** Includes the time, because a key may be used for one request only, and the same call can have several questions in succession. */
export function formatRequestKey(approval: PendingApproval): string {
  return `${approval.why}:${formatInterruptId(approval)}:${approval.askedAt.toString(36)}`;
}

export type TaskParams = { readonly taskId: string };

/** Checks the parameters of the requests about tasks. */
export const taskParams: StandardSchemaV1<unknown, TaskParams> = {
  "~standard": {
    version: 1,
    vendor: "pawl",
    validate(value) {
      const { taskId } = Object(value) as { readonly taskId?: unknown };
      return typeof taskId === "string" ? { value: { taskId } } : { issues: [{ message: "taskId must be a string" }] };
    },
  },
};
