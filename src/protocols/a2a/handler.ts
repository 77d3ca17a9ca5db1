/**
 * Handles requests of A2A clients, over the session log.
 *
 * 1. A context is a session, a task is a run, and the id of a message is the id of its run. So a message that is sent again is
 *    the same task, in any process.
 * 2. A message with a task's id answers the question that the task shows. If it is sent again, it does not answer another one.
 * 3. A connection is never a run: a run continues when its client disconnects.
 */

import type * as Sdk from "@a2a-js/sdk";
import type * as SdkErrors from "@a2a-js/sdk/errors";
import type * as SdkServer from "@a2a-js/sdk/server";
import { questionKey } from "../../core/data/call-key.js";
import { PawlError } from "../../index.js";
import { createProgressText } from "../describe-progress.js";
import { formatInterruptId } from "../interrupt-id.js";
import { findRun, startRun } from "../run-cursors.js";
import { type RunFlowOptions, streamRun } from "../run-flow.js";
import { readRunStatus } from "../run-status.js";
import type { A2aHost, A2aSession } from "./host.js";
import { readDecision, toInput } from "./messages.js";
import {
  createMessage,
  createTextPart,
  type Enums,
  parseTaskId,
  readTask,
  type TaskReading,
  toAskedQuestions,
} from "./tasks.js";

export type HandlerSdk = {
  readonly enums: Enums;
  readonly errors: Pick<
    typeof SdkErrors,
    | "A2AError"
    | "ExtendedAgentCardNotConfiguredError"
    | "PushNotificationNotSupportedError"
    | "RequestMalformedError"
    | "TaskNotCancelableError"
    | "TaskNotFoundError"
    | "UnsupportedOperationError"
  >;
};

type Handler = SdkServer.A2ARequestHandler;

/** A run that a client follows. */
type Followed = { readonly session: A2aSession; readonly flow: RunFlowOptions };

/** How long to wait for a cancelled run to end before its task is returned in its current state, in milliseconds. */
const maxCancelMs = 5_000;

export function createA2aHandler(sdk: HandlerSdk, host: A2aHost): Handler {
  const { errors } = sdk;
  const unsupported = (what: string) => new errors.UnsupportedOperationError(what);
  const noPush = async (): Promise<never> => {
    throw new errors.PushNotificationNotSupportedError();
  };
  const guard = createGuard(sdk, host);
  const read = async (session: A2aSession, runId: string) => readExistingTask(sdk, { session, runId, host });

  const handler: Pick<Handler, "sendMessage" | "getTask" | "cancelTask"> = {
    async sendMessage(params) {
      const { session, flow } = await post(sdk, host, params);
      if (params.configuration?.returnImmediately !== true) await follow(session, { ...flow, signal: host.signal });
      return read(session, flow.runId);
    },
    async getTask({ id }) {
      const { session, runId } = await openTask(sdk, host, id);
      return read(session, runId);
    },
    async cancelTask({ id }) {
      const { session, runId } = await openTask(sdk, host, id);
      if ((await readRunStatus(session, runId))?.type === "ended") throw new errors.TaskNotCancelableError();
      const cursor = { runId, after: (await session.state()).seq };
      await session.abort({ runId, note: "cancelled by the A2A client", by: host.by });
      const signal = AbortSignal.any([host.signal, AbortSignal.timeout(maxCancelMs)]);
      await follow(session, { ...cursor, hasEventAhead: true, signal });
      return read(session, runId);
    },
  };
  async function* stream(start: () => Promise<Followed>): AsyncGenerator<Sdk.StreamResponse, void, undefined> {
    const open = guard(async () => {
      const { session, flow } = await start();
      return { session, flow, first: await read(session, flow.runId) };
    });
    const { session, flow, first } = await open();
    try {
      yield* streamTask(sdk, { session, runId: flow.runId, host, enums: sdk.enums }, flow, first);
    } catch (error) {
      throw isNoSession(error) ? new errors.TaskNotFoundError() : error;
    }
  }
  return {
    sendMessage: guard(handler.sendMessage),
    getTask: guard(handler.getTask),
    cancelTask: guard(handler.cancelTask),
    sendMessageStream: (params) => stream(() => post(sdk, host, params)),
    resubscribe: ({ id }) =>
      stream(async () => {
        const { session, runId } = await openTask(sdk, host, id);
        if ((await readRunStatus(session, runId))?.type === "ended")
          throw unsupported("The task has ended. Read it with GetTask.");
        return { session, flow: await findRun(session, runId) };
      }),
    listTasks: async () => {
      throw unsupported("This server does not list tasks.");
    },
    // The card has its own route.
    getAgentCard: async () => {
      throw unsupported("Read the card at /.well-known/agent-card.json.");
    },
    getAuthenticatedExtendedAgentCard: async () => {
      throw new errors.ExtendedAgentCardNotConfiguredError();
    },
    createTaskPushNotificationConfig: noPush,
    getTaskPushNotificationConfig: noPush,
    listTaskPushNotificationConfigs: noPush,
    deleteTaskPushNotificationConfig: noPush,
  };
}

/** The package sends the message of any thrown error to the client, so handlers may throw only protocol errors. */
function createGuard({ errors }: HandlerSdk, host: A2aHost) {
  return <Args extends readonly unknown[], Result>(handle: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await handle(...args);
      } catch (error) {
        if (error instanceof errors.A2AError) throw error;
        if (isNoSession(error)) throw new errors.TaskNotFoundError();
        const { message, isMistake } = host.explainError(error);
        throw isMistake ? new errors.RequestMalformedError(message) : new Error(message);
      }
    };
}

/** Whether the session of a task no longer exists, because it was deleted during the request. */
function isNoSession(error: unknown): boolean {
  return error instanceof PawlError && error.code === "no_session";
}

async function openTask(
  { errors }: HandlerSdk,
  host: A2aHost,
  taskId: string,
): Promise<{ readonly session: A2aSession; readonly runId: string }> {
  const run = parseTaskId(taskId);
  const session = run === null ? null : await host.findSession(run.sessionId);
  if (run === null || session === null || (await readRunStatus(session, run.runId)) === null)
    throw new errors.TaskNotFoundError();
  return { session, runId: run.runId };
}

async function readExistingTask(sdk: HandlerSdk, reading: Omit<TaskReading, "enums">): Promise<Sdk.Task> {
  const task = await readTask({ ...reading, enums: sdk.enums });
  if (task === null) throw new sdk.errors.TaskNotFoundError();
  return task;
}

/** Starts a run, or answers the question of a task. */
async function post(
  sdk: HandlerSdk,
  host: A2aHost,
  { message, configuration }: Sdk.SendMessageRequest,
): Promise<Followed> {
  const { errors } = sdk;
  if (message === undefined || message.messageId === "")
    throw new errors.RequestMalformedError("The request has no `message` with a `messageId`.");
  if (configuration?.taskPushNotificationConfig !== undefined) throw new errors.PushNotificationNotSupportedError();
  if (message.taskId !== "") return answerTask(sdk, host, message);
  const input = toInput(message);
  const session = await host.openSession(message.contextId === "" ? undefined : message.contextId, message.messageId);
  const { isNew: _, ...flow } = await startRun(session, input, message.messageId);
  return { session, flow };
}

/** Answers the question that the task shows, or the one that the message names in its metadata. */
async function answerTask(sdk: HandlerSdk, host: A2aHost, message: Sdk.Message): Promise<Followed> {
  const { errors } = sdk;
  const { taskId, contextId, messageId, metadata } = message;
  const { session, runId } = await openTask(sdk, host, taskId);
  if (contextId !== "" && contextId !== session.id)
    throw new errors.RequestMalformedError("The task belongs to another context. Send its contextId, or none.");
  const { seq: after } = await session.state();
  const status = await readRunStatus(session, runId);
  const questions = status?.type === "asks" ? toAskedQuestions(await session.pendingApprovals()) : [];
  // Looked up after the questions, so that they do not include one that was asked because of this message.
  if (await session.hasAnswerFrom(messageId)) return { session, flow: await findRun(session, runId) };
  if (questions.length === 0)
    throw new errors.UnsupportedOperationError(
      status?.type === "ended"
        ? "The task has ended. To continue in its context, send a message without a taskId."
        : "The task is not waiting for an answer.",
    );
  const { question } = Object(metadata) as { readonly question?: unknown };
  const asked = questions.find(({ approval }) => question === undefined || formatInterruptId(approval) === question);
  if (asked === undefined)
    throw new errors.UnsupportedOperationError("This question is no longer waiting for an answer.");
  const { approval } = asked;
  const { callKey, inputHash, questionId } = approval;
  await session.answer(callKey, readDecision(message, approval), {
    by: host.by,
    requestId: messageId,
    ...(inputHash === undefined ? {} : { inputHash }),
    ...(questionId === undefined ? {} : { questionId }),
  });
  return { session, flow: { runId, after, answered: new Set([questionKey(approval)]) } };
}

/** Resolves when the run has ended, only waits, or `flow.signal` is aborted. */
async function follow(session: A2aSession, flow: RunFlowOptions): Promise<void> {
  for await (const _ of streamRun(session, flow));
}

/** Streams the task, its progress, and then its artifacts and status when the run has ended or only waits. */
async function* streamTask(
  sdk: HandlerSdk,
  reading: TaskReading,
  flow: RunFlowOptions,
  first: Sdk.Task,
): AsyncGenerator<Sdk.StreamResponse, void, undefined> {
  const { session, host, enums } = reading;
  const { id: taskId, contextId } = first;
  yield { payload: { $case: "task", value: first } };
  if (first.status?.state !== enums.TaskState.TASK_STATE_WORKING) return;
  const toUpdate = (status: Sdk.TaskStatus): Sdk.StreamResponse => ({
    payload: { $case: "statusUpdate", value: { taskId, contextId, status, metadata: undefined } },
  });
  const describe = createProgressText();
  let count = 0;
  for await (const change of streamRun(session, { ...flow, signal: host.signal })) {
    const text = change.type === "waiting" ? null : describe(change);
    if (text === null) continue;
    count += 1;
    const message = createMessage(reading, `progress-${count}`, [createTextPart(text)]);
    yield toUpdate({ state: enums.TaskState.TASK_STATE_WORKING, message, timestamp: undefined });
  }
  if (host.signal.aborted) return;
  const { artifacts, status } = await readExistingTask(sdk, reading);
  for (const artifact of artifacts)
    yield {
      payload: {
        $case: "artifactUpdate",
        value: { taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined },
      },
    };
  if (status !== undefined) yield toUpdate(status);
}
