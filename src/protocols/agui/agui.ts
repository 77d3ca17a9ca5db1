/**
 * AG-UI 1.0 over durable sessions: what its `HttpAgent` posts, and the events that it reads.
 *
 * 1. A thread is a session, and a request is a run. A request that is sent again starts no second run.
 * 2. A client that lost its stream asks again, and is told the whole run: first the messages before it, then its events.
 * 3. An interrupt is a call that waits. `resume` answers it, in days and from any process, and the run goes on.
 */
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { type RunFlowOptions, runFlow } from "../run-flow.js";
import { answerRun, joinedRun, type PostedSession, sendRun } from "../run-places.js";
import { type AguiEvent, type AguiRun, aguiEvents, callKeyOf, interruptIdOf } from "./events.js";
import { type AguiBody, type AguiRequest, aguiRequest, messagesBefore, type ResumeEntry } from "./request.js";

export type AguiOptions = {
  /** Who answers. The log records it. */
  readonly by: string;
  readonly signal: AbortSignal;
};

/**
 * Carries out what a client posted to the session of its thread, and gives the events of its run.
 * @throws PawlError `bad_input`, `no_session`, `no_such_call`
 */
export async function postAgui(
  body: AguiBody,
  session: PostedSession,
  { by, signal }: AguiOptions,
): Promise<AsyncGenerator<AguiEvent, void, undefined>> {
  const { threadId, runId } = body;
  const request = aguiRequest(body);
  const { flow, isRepeated } = await flowOf(request, body, session, by);
  const before = isRepeated ? messagesBefore(flow.runId, body) : null;
  return events(session, { threadId, runId, messagesOf: flow.runId, calls: new Map() }, { ...flow, signal }, before);
}

async function flowOf(
  request: AguiRequest,
  { runId }: AguiBody,
  session: PostedSession,
  by: string,
): Promise<{ readonly flow: RunFlowOptions; readonly isRepeated: boolean }> {
  switch (request.type) {
    case "message": {
      const { isNew, ...flow } = await sendRun(session, request.input, runId);
      return { flow, isRepeated: !isNew };
    }
    case "join":
      return { flow: await joinedRun(session, runId), isRepeated: true };
    case "resume": {
      const flow = await answerRun(
        session,
        request.entries.map((entry) => ({ ...entry, callKey: callKeyOf(entry.interruptId) })),
        ({ interruptId }, waiting) => waiting.find((one) => interruptIdOf(one) === interruptId),
        (entry, asked) => giveAnswer(session, asked, entry, by),
      );
      return { flow, isRepeated: false };
    }
  }
}

/** @param before the messages before the run, for a client that has a part of it; null if it has none */
async function* events(
  session: PostedSession,
  run: AguiRun,
  flow: RunFlowOptions,
  before: readonly unknown[] | null,
): AsyncGenerator<AguiEvent, void, undefined> {
  yield { type: "RUN_STARTED", threadId: run.threadId, runId: run.runId };
  if (before !== null) yield { type: "MESSAGES_SNAPSHOT", messages: before };
  for await (const item of runFlow(session, flow)) yield* aguiEvents(item, run);
}

async function giveAnswer(
  session: PostedSession,
  asked: PendingApproval,
  entry: ResumeEntry,
  by: string,
): Promise<void> {
  const { callKey, inputHash, questionId } = asked;
  const decision = decisionOf(asked, entry);
  await session.answer(callKey, decision, {
    by,
    ...(inputHash === undefined ? {} : { inputHash }),
    ...(questionId === undefined ? {} : { questionId }),
  });
}

function decisionOf({ why, callKey }: PendingApproval, { status, payload }: ResumeEntry): ApprovalDecision {
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
  throw new PawlError("bad_input", `The answer to the call ${callKey} cannot be read. Send ${shape} as its payload.`);
}
