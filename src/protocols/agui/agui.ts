/**
 * AG-UI 1.0 over durable sessions: what its `HttpAgent` posts, and the events that it reads.
 *
 * 1. A thread is a session, and a request is a run. A request that is sent again starts no second run.
 * 2. An interrupt is a call that waits. `resume` answers it, in days and from any process, and the run goes on.
 */
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { type RunFlowOptions, runFlow } from "../run-flow.js";
import { afterAnswer, type PostedSession, runOf, sendRun } from "../run-places.js";
import { type AguiEvent, type AguiRun, aguiEvents, callKeyOf, interruptIdOf } from "./events.js";
import { type AguiRequest, aguiRequest, type ResumeEntry } from "./request.js";

export type AguiHost = {
  /** The session of a thread. The client chooses the id of the thread. */
  readonly sessionOf: (threadId: string) => PostedSession;
  /** Goes on with a session whose calls were answered. It does not wait for the run. */
  readonly carryOn: (sessionId: string) => void;
  /** Who answers. The log records it. */
  readonly by?: string;
};

/**
 * Carries out what a client posted, and gives the events of its run.
 * @throws PawlError `bad_input`, `no_session`, `no_such_call`
 */
export async function postAgui(
  body: unknown,
  host: AguiHost,
  signal?: AbortSignal,
): Promise<AsyncGenerator<AguiEvent, void, undefined>> {
  const request = aguiRequest(body);
  const session = host.sessionOf(request.threadId);
  const flow =
    request.type === "resume"
      ? await resumed(session, request, host)
      : await sendRun(session, request.input, request.runId);
  const { threadId, runId } = request;
  const beside = signal === undefined ? {} : { signal };
  return events(session, { threadId, runId, calls: new Map() }, { ...flow, ...beside });
}

async function* events(
  session: PostedSession,
  run: AguiRun,
  flow: RunFlowOptions,
): AsyncGenerator<AguiEvent, void, undefined> {
  yield { type: "RUN_STARTED", threadId: run.threadId, runId: run.runId };
  for await (const item of runFlow(session, flow)) yield* aguiEvents(item, run);
}

async function resumed(
  session: PostedSession,
  { entries }: Extract<AguiRequest, { readonly type: "resume" }>,
  host: AguiHost,
): Promise<RunFlowOptions> {
  const { seq: after } = await session.state();
  const waiting = new Map((await session.pendingApprovals()).map((one) => [interruptIdOf(one), one]));
  const given = new Set<string>();
  let runId: string | undefined;
  for (const entry of entries) {
    const asked = waiting.get(entry.interruptId);
    if (asked === undefined) continue;
    await giveAnswer(session, asked, entry, host.by);
    given.add(asked.callKey);
    runId ??= await runOf(session, asked);
  }
  if (runId === undefined)
    return afterAnswer(session, new Set(entries.map(({ interruptId }) => callKeyOf(interruptId))));
  host.carryOn(session.id);
  return { runId, after, answered: given };
}

async function giveAnswer(
  session: PostedSession,
  asked: PendingApproval,
  entry: ResumeEntry,
  by: string | undefined,
): Promise<void> {
  const { callKey, inputHash, questionId } = asked;
  const decision = decisionOf(asked, entry);
  await session.answer(callKey, decision, {
    ...(by === undefined ? {} : { by }),
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
