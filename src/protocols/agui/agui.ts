/**
 * AG-UI 1.0 over durable sessions: handles the requests of its `HttpAgent`, and produces the events that it reads.
 *
 * 1. A thread is a session, and a request is a run. A repeated request does not start a second run.
 * 2. A client that lost its stream repeats the request, and gets the whole run: first the earlier messages, then the run's events.
 * 3. An interrupt is a waiting call. `resume` answers it, even days later and from any process, and the run continues.
 */
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { formatInterruptId, parseInterruptId } from "../interrupt-id.js";
import { answerRun, joinRun, type PostableSession, startRun } from "../run-cursors.js";
import { type RunFlowOptions, streamRun } from "../run-flow.js";
import { type AguiEvent, type AguiRun, toAguiEvents } from "./events.js";
import { type AguiBody, type AguiRequest, messagesBefore, parseAguiRequest, type ResumeEntry } from "./request.js";

export type AguiOptions = {
  /** The client, which the log records as the author of answers. */
  readonly by: string;
  readonly signal: AbortSignal;
};

/**
 * Handles a client's request to the session of its thread, and returns the events of its run.
 * @throws PawlError `bad_input`, `no_session`, `no_such_call`
 */
export async function postAgui(
  body: AguiBody,
  session: PostableSession,
  { by, signal }: AguiOptions,
): Promise<AsyncGenerator<AguiEvent, void, undefined>> {
  const { threadId, runId } = body;
  const request = parseAguiRequest(body);
  const { flow, isRepeated } = await startFlow(request, body, session, by);
  const previousMessages = isRepeated ? messagesBefore(flow.runId, body) : null;
  return streamEvents(
    session,
    { threadId, runId, messagesOf: flow.runId, calls: new Map() },
    { ...flow, signal },
    previousMessages,
  );
}

async function startFlow(
  request: AguiRequest,
  { runId }: AguiBody,
  session: PostableSession,
  by: string,
): Promise<{ readonly flow: RunFlowOptions; readonly isRepeated: boolean }> {
  switch (request.type) {
    case "message": {
      const { isNew, ...flow } = await startRun(session, request.input, runId);
      return { flow, isRepeated: !isNew };
    }
    case "join":
      return { flow: await joinRun(session, runId), isRepeated: true };
    case "resume": {
      const flow = await answerRun(
        session,
        request.entries.map((entry) => ({ ...entry, callKey: parseInterruptId(entry.interruptId) })),
        ({ interruptId }, waiting) => waiting.find((candidate) => formatInterruptId(candidate) === interruptId),
        (entry, approval) => sendDecision(session, approval, entry, by),
      );
      return { flow, isRepeated: false };
    }
  }
}

/** @param previousMessages the messages before the run, if the client already has part of the run; otherwise null */
async function* streamEvents(
  session: PostableSession,
  run: AguiRun,
  flow: RunFlowOptions,
  previousMessages: readonly unknown[] | null,
): AsyncGenerator<AguiEvent, void, undefined> {
  yield { type: "RUN_STARTED", threadId: run.threadId, runId: run.runId };
  if (previousMessages !== null) yield { type: "MESSAGES_SNAPSHOT", messages: previousMessages };
  for await (const item of streamRun(session, flow)) yield* toAguiEvents(item, run);
}

async function sendDecision(
  session: PostableSession,
  approval: PendingApproval,
  entry: ResumeEntry,
  by: string,
): Promise<void> {
  const { callKey, inputHash, questionId } = approval;
  const decision = toDecision(approval, entry);
  await session.answer(callKey, decision, {
    by,
    ...(inputHash === undefined ? {} : { inputHash }),
    ...(questionId === undefined ? {} : { questionId }),
  });
}

function toDecision({ why, callKey }: PendingApproval, { status, payload }: ResumeEntry): ApprovalDecision {
  const fields =
    payload !== null && typeof payload === "object" ? (payload as { readonly [key: string]: unknown }) : {};
  const note = typeof fields.note === "string" ? { note: fields.note } : {};
  const isCancelled = status === "cancelled";
  switch (why) {
    case "tool":
      return isCancelled ? { type: "decline", ...note } : { type: "reply", value: payload };
    case "policy":
    case "provider":
      if (isCancelled || fields.approved === false || payload === false) return { type: "deny", ...note };
      if (fields.editedInput !== undefined) return { type: "modify", input: fields.editedInput };
      if (fields.approved === true || payload === true) return { type: "approve" };
      return refuse(callKey, "{ approved: true or false, editedInput?, note? }");
    case "recovery":
      if (isCancelled || fields.decision === "fail") return { type: "fail", ...note };
      if (fields.decision === "rerun") return { type: "rerun" };
      if (fields.decision === "result") return { type: "result", output: fields.output };
      return refuse(callKey, '{ decision: "rerun", "result" with output, or "fail" }');
    case "external":
      if (isCancelled) return { type: "fail", ...note };
      if (!("output" in fields)) return refuse(callKey, "{ output, isError? }");
      return { type: "result", output: fields.output, ...(fields.isError === true ? { isError: true } : {}) };
  }
}

function refuse(callKey: string, shape: string): never {
  throw new PawlError("bad_input", `Invalid answer to the call ${callKey}: expected the payload ${shape}.`);
}
