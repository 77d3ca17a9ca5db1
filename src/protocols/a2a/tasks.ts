/**
 * Runs as A2A tasks. The log is the record of a task: its id names the session and the run, so any process with the store can
 * serve it. The id does not grant access.
 */
import type * as Sdk from "@a2a-js/sdk";
import type { PendingApproval } from "../../index.js";
import { createForm, type Form } from "../approval-forms.js";
import { describeWaits } from "../describe-waits.js";
import { formatInterruptId } from "../interrupt-id.js";
import { type EndedRun, readLastTime, readRunStatus } from "../run-status.js";
import type { A2aHost, A2aSession } from "./host.js";

/** The protocol enums that the package exports. */
export type Enums = Pick<typeof Sdk, "Role" | "TaskState">;

/** The run behind a task. */
export type TaskRun = { readonly sessionId: string; readonly runId: string };

const maxTaskIdCharacters = 8_000;

export function formatTaskId({ sessionId, runId }: TaskRun): string {
  return [sessionId, runId].map(encodeURIComponent).join(":");
}

/** Null if the string is not a task id. */
export function parseTaskId(text: string): TaskRun | null {
  if (text.length > maxTaskIdCharacters) return null;
  try {
    const [sessionId = "", runId = ""] = text.split(":").map(decodeURIComponent);
    const run = { sessionId, runId };
    // Each task has exactly one id. Other encodings of it are unknown ids.
    return sessionId !== "" && runId !== "" && formatTaskId(run) === text ? run : null;
  } catch {
    return null;
  }
}

/** A question that a message can answer. */
export type AskedQuestion = { readonly approval: PendingApproval; readonly form: Form };

/**
 * The questions of a waiting run, oldest first. The client is shown the first one, and each message answers one. So a newer question
 * never replaces one that was shown.
 */
export function toAskedQuestions(pending: readonly PendingApproval[]): readonly AskedQuestion[] {
  return [...pending]
    .sort((a, b) => a.askedAt - b.askedAt)
    .flatMap((approval) => {
      const form = createForm(approval);
      return form === null ? [] : [{ approval, form }];
    });
}

export type TaskReading = {
  readonly session: A2aSession;
  readonly runId: string;
  readonly host: A2aHost;
  readonly enums: Enums;
};

/** Reads the current state of the task from the log; null if the session has no such run. */
export async function readTask(reading: TaskReading): Promise<Sdk.Task | null> {
  const { session, runId, host, enums } = reading;
  const { TaskState } = enums;
  const state = await session.state();
  const status = await readRunStatus(session, runId, state);
  const at = await readLastTime(session, state.seq);
  const create = (taskState: Sdk.TaskState, message?: Sdk.Message, artifacts: Sdk.Artifact[] = []): Sdk.Task => ({
    id: formatTaskId({ sessionId: session.id, runId }),
    contextId: session.id,
    status: { state: taskState, message, timestamp: at === undefined ? undefined : new Date(at).toISOString() },
    artifacts,
    history: [],
    metadata: undefined,
  });
  const say = (text: string) => createMessage(reading, `${state.seq}`, [createTextPart(host.redact(text))]);
  switch (status?.type) {
    case undefined:
      return null;
    case "working":
      return create(TaskState.TASK_STATE_WORKING);
    case "waits":
      return create(TaskState.TASK_STATE_WORKING, say(describeWaits(status.waits)));
    case "asks": {
      const pending = await session.pendingApprovals();
      const [first] = host.mayAnswer ? toAskedQuestions(pending) : [];
      if (first !== undefined) return create(TaskState.TASK_STATE_INPUT_REQUIRED, createQuestion(reading, first));
      // The answer may be in the inbox already.
      if (pending.length === 0) return create(TaskState.TASK_STATE_WORKING);
      return create(
        TaskState.TASK_STATE_WORKING,
        say(`The run is waiting for a person. ${host.whereToAnswer(session.id)}`),
      );
    }
    case "ended":
      switch (status.result.status) {
        case "completed":
          return create(TaskState.TASK_STATE_COMPLETED, undefined, createArtifacts(status.result, host));
        case "failed":
          return create(TaskState.TASK_STATE_FAILED, say(status.result.error?.message ?? status.result.text));
        case "aborted":
          return create(TaskState.TASK_STATE_CANCELED, say(status.result.text));
      }
  }
}

/** The metadata `question` identifies the question. An answer with the same metadata applies only to it. */
function createQuestion(reading: TaskReading, { approval, form }: AskedQuestion): Sdk.Message {
  const question = formatInterruptId(approval);
  return {
    ...createMessage(reading, question, [createTextPart(form.message), createDataPart(form.requestedSchema)]),
    metadata: { question },
  };
}

/** A message of the agent. */
export function createMessage(
  { session, runId, enums }: Pick<TaskReading, "session" | "runId" | "enums">,
  name: string,
  parts: Sdk.Part[],
): Sdk.Message {
  return {
    messageId: `${runId}/${name}`,
    contextId: session.id,
    taskId: formatTaskId({ sessionId: session.id, runId }),
    role: enums.Role.ROLE_AGENT,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

export function createTextPart(value: string): Sdk.Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "text/plain" };
}

function createDataPart(value: unknown): Sdk.Part {
  return { content: { $case: "data", value }, metadata: undefined, filename: "", mediaType: "application/json" };
}

/** The structured output of the run, or else its text. */
function createArtifacts(result: EndedRun, { redact, redactJson }: TaskReading["host"]): Sdk.Artifact[] {
  const output = "output" in result ? result.output : undefined;
  if (output === undefined && result.text === "") return [];
  const part = output === undefined ? createTextPart(redact(result.text)) : createDataPart(redactJson(output));
  const artifact = { artifactId: "result", name: "result", description: "", parts: [part] };
  return [{ ...artifact, metadata: undefined, extensions: [] }];
}
