/**
 * The requests about the tasks of one call.
 *
 * 1. A message that begins a task has an id that is derived from the call, and one that answers a question has an id that is derived
 *    from the question. So the same message always has the same id.
 * 2. An answer is sent only while the task shows its question: a repeated answer does not answer the next question.
 * 3. The agent is untrusted: its task ids are checked, and its texts are shortened.
 */

import type { Message, Task as RemoteTask } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { getErrorMessage } from "../../core/data/error-message.js";
import type { ToolOutput } from "../../core/data/message.js";
import { sha256 } from "../../platform/hash.js";
import type { InputResponses } from "../mcp/collect-answers.js";
import { shortenUntrusted } from "../mcp/shorten-untrusted.js";
import { parseTask, type TaskMethods, type TaskState } from "../mcp/tasks.js";
import { OversizedError } from "./bounded-fetch.js";
import type { A2aSdk } from "./import-sdk.js";
import { createMessage, createTextPart, joinTexts, readOutput, readQuestion, toAnswer, toOutput } from "./messages.js";

/** The agent's reply to the first message, which need not be a task. */
export type Started =
  | { readonly type: "task"; readonly taskId: string; readonly startedAt: number }
  | { readonly type: "output"; readonly output: ToolOutput };

export type RemoteCall = {
  /** The agent as messages name it. */
  readonly peer: string;
  readonly sdk: A2aSdk;
  readonly client: Client;
  /** Names the call among all calls of all sessions. */
  readonly callId: string;
};

const maxMessageCharacters = 500;
const maxReasonCharacters = 4_000;

/** @throws Error if the agent cannot be reached, refuses, or gives no valid answer */
export async function startTask(
  { sdk, client, callId }: RemoteCall,
  text: string,
  signal: AbortSignal,
): Promise<Started> {
  try {
    const message = createMessage(sdk.enums, { messageId: callId, parts: [createTextPart(text)] });
    const reply = await client.sendMessage(createRequest(message), { signal });
    if ("messageId" in reply) return { type: "output", output: toOutput(reply.parts) };
    return { type: "task", taskId: parseTask({ taskId: reply.id }).taskId, startedAt: Date.now() };
  } catch (error) {
    throw new Error(shortenUntrusted(getErrorMessage(error), maxReasonCharacters));
  }
}

function createRequest(message: Message): Parameters<Client["sendMessage"]>[0] {
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true };
  return { tenant: "", message, configuration, metadata: undefined };
}

/** @param deadline when the task is given up, in epoch milliseconds */
export function createRemoteTasks(call: RemoteCall, deadline: number): TaskMethods<ToolOutput> {
  const { peer, sdk, client, callId } = call;
  let polls = 0;
  const read = async (taskId: string, signal: AbortSignal): Promise<RemoteTask> => {
    const task = await client.getTask({ tenant: "", id: taskId, historyLength: 0 }, { signal });
    if (task.id !== taskId) throw new Error("it answered about another task");
    return task;
  };
  const cancel = async (taskId: string, signal: AbortSignal): Promise<void> => {
    await client.cancelTask({ tenant: "", id: taskId, metadata: undefined }, { signal });
  };
  const giveUp = async (taskId: string, signal: AbortSignal, ended: Pick<Ended, "reason" | "code">) => {
    await cancel(taskId, signal).catch(() => {});
    return { ...unknownState, ...ended, type: "ended" } as const;
  };

  return {
    async get(taskId, signal) {
      polls += 1;
      try {
        const task = await read(taskId, signal);
        const state = readState(call, task, computeInterval(polls));
        if (state.type === "ended" && state.code === "a2a_auth_required") return giveUp(taskId, signal, state);
        const isOver = state.type === "ended" || state.type === "completed";
        if (isOver || Date.now() < deadline) return state;
        return giveUp(taskId, signal, { reason: "the task took longer than taskTimeoutMs" });
      } catch (error) {
        // The task may be at work still, and its result cannot be read.
        if (error instanceof OversizedError) return giveUp(taskId, signal, { reason: error.message });
        if (!(error instanceof sdk.errors.TaskNotFoundError)) throw error;
        return { ...unknownState, type: "ended", reason: "it does not know the task" };
      }
    },
    async update(taskId, inputResponses, signal) {
      try {
        await sendAnswers(taskId, inputResponses, signal);
      } catch (error) {
        // The next poll ends the call, because the agent does not know the task.
        if (!(error instanceof sdk.errors.TaskNotFoundError)) throw error;
      }
    },
    cancel,
  };

  async function sendAnswers(taskId: string, inputResponses: InputResponses, signal: AbortSignal): Promise<void> {
    for (const [key, response] of Object.entries(inputResponses)) {
      const task = await read(taskId, signal);
      if (task.status?.state !== sdk.enums.TaskState.TASK_STATE_INPUT_REQUIRED) return;
      const question = readQuestion(peer, task);
      if (question.key !== key) continue;
      const answer = toAnswer(question, response);
      const messageId = sha256(`${callId}/${key}`);
      await client.sendMessage(
        createRequest(createMessage(sdk.enums, { messageId, taskId, contextId: task.contextId, ...answer })),
        { signal },
      );
    }
  }
}

type Ended = Extract<TaskState<ToolOutput>, { type: "ended" }>;

const unknownState = { intervalMs: undefined, message: undefined };
export const firstIntervalMs = 250;
const maxIntervalMs = 15_000;

/** The protocol has no interval. The first minute has about twenty polls. */
function computeInterval(polls: number): number {
  return Math.min(maxIntervalMs, firstIntervalMs * 1.25 ** (polls - 1));
}

function readState({ peer, sdk }: RemoteCall, task: RemoteTask, intervalMs: number): TaskState<ToolOutput> {
  const { TaskState: states } = sdk.enums;
  const text = joinTexts(task.status?.message?.parts ?? []);
  const message = text === "" ? undefined : shortenUntrusted(text, maxMessageCharacters);
  const common = { intervalMs, message };
  const end = (what: string): Ended => {
    const reason = text === "" ? "no reason given" : shortenUntrusted(text, maxReasonCharacters);
    return { ...common, type: "ended", reason: `${what}: ${reason}` };
  };
  switch (task.status?.state) {
    case states.TASK_STATE_SUBMITTED:
    case states.TASK_STATE_WORKING:
      return { ...common, type: "working" };
    case states.TASK_STATE_INPUT_REQUIRED: {
      const { key, request } = readQuestion(peer, task);
      // The person reads the text in the question.
      return { intervalMs, message: undefined, type: "asks", requests: { [key]: request } };
    }
    case states.TASK_STATE_COMPLETED:
      return { ...common, message: undefined, type: "completed", result: readOutput(task) };
    case states.TASK_STATE_AUTH_REQUIRED:
      return { ...end("the task needs a login, and was cancelled"), code: "a2a_auth_required" };
    case states.TASK_STATE_REJECTED:
      return { ...end("the agent rejected the task"), code: "a2a_rejected" };
    case states.TASK_STATE_FAILED:
      return end("the task failed");
    case states.TASK_STATE_CANCELED:
      return end("the task was cancelled");
    default:
      return { ...common, type: "ended", reason: "the task has an unknown state" };
  }
}
