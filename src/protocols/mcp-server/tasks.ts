/**
 * Runs as tasks: the extension `io.modelcontextprotocol/tasks` of protocol 2026-07-28. A client that declares the extension gets
 * a task for its call, and polls it.
 *
 * 1. A run is a task, and the log is its record. The id of the task names the session and the run, so any process of the store
 *    can answer for it. The id gives no rights: each request checks whether the caller may use the session.
 * 2. The calls that wait for a person are the task's input requests. The first of two answers counts.
 * 3. The status `failed` is for protocol errors. A run that failed is a completed task whose result is an error.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PawlError, type PendingApproval, type RunResult } from "../../index.js";
import { describeWaits } from "../describe-waits.js";
import { formatInterruptId } from "../interrupt-id.js";
import { createForm, type Form } from "./approval-forms.js";
import type { CalledSession, McpHost } from "./host.js";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** The run that a task stands for. */
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
  /** A session is kept until it is deleted. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
  readonly inputRequests?: { readonly [key: string]: unknown };
  readonly result?: object;
};

const pollIntervalMs = 1_000;
/** For a run that sleeps, or whose questions this client cannot answer. */
const slowPollIntervalMs = 30_000;
const maxTaskIdCharacters = 8_000;

/** Plain ASCII without spaces, because HTTP requests repeat it in a header. */
export function formatTaskId({ sessionId, runId, createdAt }: TaskRun): string {
  return [sessionId, runId, createdAt.toString(36)].map(encodeURIComponent).join("/");
}

/** Null if the text is not the id of a task. */
export function parseTaskId(text: string): TaskRun | null {
  if (text.length > maxTaskIdCharacters) return null;
  try {
    const [sessionId = "", runId = "", time = ""] = text.split("/", 3).map(decodeURIComponent);
    const createdAt = Number.parseInt(time, 36);
    const run = { sessionId, runId, createdAt };
    // A task has one id: other spellings are unknown ids.
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
  readonly toResult: (result: RunResult) => object;
};

/** Reads the current state of the task from the log; null if the session has no such run. */
export async function readTask(reading: TaskReading): Promise<TaskView | null> {
  const { session, run, canAsk, host } = reading;
  const state = await session.state();
  const view = createView(run, await readLastTime(session, state.seq, run.createdAt));
  // The result of a run costs a read of its log.
  if (isBusy(state, run.runId)) return { ...view, status: "working" };
  const result = await findResult(session, run.runId);
  if (result === undefined) return null;
  if (result === null) return { ...view, status: "working" };
  switch (result.status) {
    case "interrupted":
      return { ...view, status: "working" };
    case "aborted":
      return { ...view, status: "cancelled", statusMessage: result.text };
    case "completed":
    case "failed":
      return { ...view, status: "completed", result: reading.toResult(result) };
    case "waiting":
      return {
        ...view,
        pollIntervalMs: slowPollIntervalMs,
        status: "working",
        statusMessage: describeWaits(result.waits),
      };
    case "awaiting_human": {
      const inputRequests = canAsk ? createInputRequests(result.approvals, reading) : {};
      if (Object.keys(inputRequests).length > 0) return { ...view, status: "input_required", inputRequests };
      const statusMessage = `The run waits for a person. ${host.whereToAnswer(run.sessionId)}`;
      return { ...view, pollIntervalMs: slowPollIntervalMs, status: "working", statusMessage };
    }
  }
}

/** Whether the run is in progress: it has not ended, and does not wait for a person, a time or a signal. */
function isBusy(state: Awaited<ReturnType<CalledSession["state"]>>, runId: string): boolean {
  switch (state.status) {
    case "preparing":
    case "model_running":
      return state.runId === runId;
    case "tool_running":
      return state.runId === runId && state.parkedSince === undefined;
    default:
      return false;
  }
}

/** When the session last changed. */
async function readLastTime(session: CalledSession, seq: number, createdAt: number): Promise<number> {
  let last = createdAt;
  for await (const event of session.events({ after: Math.max(0, seq - 1), follow: false }))
    if ("at" in event && typeof event.at === "number") last = event.at;
  return last;
}

/** The result; null if the run continues; undefined if there is no such run. */
async function findResult(session: CalledSession, runId: string): Promise<RunResult | null | undefined> {
  try {
    return await session.result(runId);
  } catch (error) {
    if (error instanceof PawlError && (error.code === "no_such_run" || error.code === "bad_input")) return undefined;
    throw error;
  }
}

/** The questions of a run that waits for a person. Empty if it does not; null if there is no such run. */
export async function listQuestions(session: CalledSession, runId: string): Promise<readonly PendingApproval[] | null> {
  const result = await findResult(session, runId);
  if (result === undefined) return null;
  return result?.status === "awaiting_human" ? result.approvals : [];
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

/** A key may be used for one request only, and the same call can have several questions, one after another. */
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
