/**
 * Starts a run and answers its calls until it has ended. It behaves the same in every life, so the result does not depend on the
 * crashes.
 */
import type { PendingApproval, RunResult } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { ApprovalDecision } from "../../runtime/agent/answer-types.js";
import type { StartOptions } from "../../runtime/agent/run-input.js";
import type { Process } from "../world/world.js";

/** Answers a waiting call. A call that runs elsewhere needs `{ type: "result" }`. */
export type Respond = (approval: PendingApproval) => ApprovalDecision | Promise<ApprovalDecision>;

export type RunRequest = {
  readonly sessionId: string;
  readonly runId: string;
  readonly input: string;
  /** Options of the run. Default: none. */
  readonly given?: Pick<StartOptions, "params" | "by">;
  readonly respond: Respond;
  /** Waits until a run that sleeps or waits for a signal is due. Default: `runToEnd` ends when the run waits. */
  readonly untilDue?: () => Promise<void>;
};

export async function runToEnd({ agent }: Pick<Process, "agent">, request: RunRequest): Promise<RunResult> {
  const { sessionId, runId, input, given, untilDue } = request;
  const session = agent.session(sessionId);
  const run = () => agent.run(input, { ...given, sessionId, runId });
  let result = await run();
  for (;;) {
    if (result.status === "awaiting_human") await answerAll(session, result.approvals, request);
    else if (result.status === "waiting" && untilDue !== undefined) await untilDue();
    else return result.runId === runId ? result : await run();
    result = await session.resume().catch((error) => {
      if (error instanceof PawlError && error.code === "run_finished") return run();
      throw error;
    });
  }
}

async function answerAll(
  session: ReturnType<Process["agent"]["session"]>,
  approvals: readonly PendingApproval[],
  { respond }: RunRequest,
): Promise<void> {
  for (const approval of approvals) {
    const { callKey, why, questionId } = approval;
    const question = questionId === undefined ? {} : { questionId };
    const decision = await respond(approval);
    if (why !== "external") await session.answer(callKey, decision, question);
    else if (decision.type === "result")
      await session.provideResult(callKey, decision.output, { isError: decision.isError === true });
    else throw new PawlError("bad_input", `${callKey} runs elsewhere: answer it with { type: "result", output }.`);
  }
}
