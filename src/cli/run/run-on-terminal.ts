/**
 * Drives a run from a terminal: shows what happens, asks the person about calls, and stops on Ctrl-C and SIGTERM.
 *
 * Showing and asking alternate. All events are shown until the run ends or waits; only then is the person asked.
 */
import { setImmediate } from "node:timers/promises";
import { isResting } from "../../core/index.js";
import type { Store, StreamItem } from "../../index.js";
import { type Agent, PawlError, type PendingApproval, type RunResult, type Session } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { answers } from "../../view/question-choices.js";
import { askApproval } from "../decisions/ask-approval.js";
import { sendDecision } from "../decisions/send-decision.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodeOf, exitCodes, formatError } from "../exit.js";
import { findSession, shortId } from "../files/session-store.js";
import type { Permissions } from "../permissions/permissions.js";
import { personTool } from "../permissions/rule.js";
import { loadSessionData } from "../permissions/save-rule.js";
import type { SessionRules } from "../permissions/session-rules.js";
import type { Interruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import type { RunView } from "./run-view.js";
import { listenForSteering, type SteeringInput } from "./steering-input.js";

export type TerminalRun = {
  readonly agent: Agent;
  readonly sessionId: string;
  readonly store: Store;
  readonly view: RunView;
  readonly terminal: Terminal;
  readonly permissions: Permissions;
  readonly interruptions: Interruptions;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
};

/** The process exits before the run has ended. */
type EarlyExit = { readonly exitCode: number };

/** How long tools that run may take to finish after SIGTERM; milliseconds. */
const graceMs = 5_000;

/**
 * Shows a run until it ends, or until it waits and no person can be asked.
 *
 * @param after the last entry that is not to be shown
 * @param start starts or resumes the run
 * @returns the exit code
 */
export async function runOnTerminal(
  run: TerminalRun,
  after: number,
  start: (session: Session) => Promise<RunResult>,
): Promise<number> {
  const { agent, sessionId, view, terminal, canAsk } = run;
  const session = agent.session(sessionId);
  const state: ShownState = {
    seq: after,
    undecided: new Set(),
    denied: 0,
    unanswered: 0,
    hasEnd: false,
    hasSteered: false,
  };
  let result = await runUntilPause(run, session, state, () => start(session));
  while (!("exitCode" in result)) {
    if (result.status === "waiting") break;
    if (result.status !== "awaiting_human") {
      if (!(await hasFollowUpRun(session, state))) break;
      result = await runUntilPause(run, session, state, () => awaitOutcome(session));
      continue;
    }
    const collected = await collectAnswers(result.approvals, run);
    if (run.interruptions.stop.aborted)
      result = await runUntilPause(run, session, state, async () => {
        await session.abort(ctrlCReason);
        return awaitOutcome(session);
      });
    else if (collected.length === 0 || run.interruptions.shutdown.aborted) break;
    else
      result = await runUntilPause(run, session, state, async () => {
        for (const send of collected) await send(session);
        return awaitOutcome(session);
      });
  }
  if ("exitCode" in result) return result.exitCode;
  view.end(result);
  if (state.denied > 0 && !canAsk) terminal.err(`${formatDeniedWarning(state.denied)}\n`);
  if (state.unanswered > 0 && !canAsk) terminal.err(`${formatUnansweredWarning(state.unanswered)}\n`);
  const agents = (await session.state()).background?.filter(({ ended }) => ended !== true).length ?? 0;
  if (agents > 0) terminal.err(`${formatAgentsWarning(agents, sessionId)}\n`);
  return agents > 0 && result.status === "completed" ? exitCodes.interrupted : exitCodeOf(result);
}

function formatAgentsWarning(agents: number, sessionId: string): string {
  const subject = agents === 1 ? "1 agent in the background has" : `${agents} agents in the background have`;
  return `${subject} not ended. A worker continues them and reports to the session: pawl worker. In a conversation: pawl --session ${sanitize(shortId(sessionId))}`;
}

/** Resumes the session and returns the result; returns the last result if the run has ended meanwhile. */
export async function awaitOutcome(session: Session): Promise<RunResult> {
  try {
    return await session.resume();
  } catch (error) {
    const result = error instanceof PawlError && error.code === "run_finished" ? await session.result() : null;
    if (result === null) throw error;
    return result;
  }
}

function formatDeniedWarning(denied: number): string {
  const calls = `${denied} ${denied === 1 ? "call was" : "calls were"}`;
  return `${calls} denied because nobody could be asked.\nRun pawl on a terminal, let calls wait with --park, or allow some with --allow or all with --yes.`;
}

function formatUnansweredWarning(unanswered: number): string {
  const questions = unanswered === 1 ? "1 question of the model was" : `${unanswered} questions of the model were`;
  return `${questions} not asked, because nobody could answer.\nRun pawl on a terminal and without --yes, let questions wait with --park, or write the answer into the task.`;
}

/** What the stream has shown so far. */
type ShownState = {
  /** The last entry that was shown. */
  seq: number;
  /** Calls that were not shown to a person. */
  readonly undecided: Set<string>;
  /** How many of `undecided` were denied. */
  denied: number;
  /** How many questions of the model were declined because there was no person to ask. */
  unanswered: number;
  /** Whether the last entry ends or suspends the run. */
  hasEnd: boolean;
  /** Whether the person has sent a message. */
  hasSteered: boolean;
};

/** A message that arrives just after the run has ended starts the next run. */
async function hasFollowUpRun(session: Session, { hasSteered }: ShownState): Promise<boolean> {
  return hasSteered && !isResting(await session.state());
}

/** Sends each line that the person types to the run. */
function listenForMessages(
  { terminal, view, interruptions, canAsk }: TerminalRun,
  session: Session,
  state: ShownState,
): SteeringInput | null {
  if (!canAsk) return null;
  const onLine = async (line: string) => {
    try {
      await session.steer(line);
      state.hasSteered = true;
      view.note(terminal.style("dim", "  The model gets this with its next call."));
    } catch (error) {
      view.note(`  The message was not sent: ${terminal.redaction.text(formatError(error, false))}`);
    }
  };
  return listenForSteering({ terminal, interruptions, onLine });
}

async function runUntilPause(
  run: TerminalRun,
  session: Session,
  state: ShownState,
  action: () => Promise<RunResult>,
): Promise<RunResult | EarlyExit> {
  const { view, interruptions } = run;
  const streamEnd = new AbortController();
  const show = async (items: AsyncIterable<StreamItem>) => {
    for await (const item of items) {
      view.show(item);
      updateState(state, item);
      // The person pressed Ctrl-C before the run had begun.
      if (item.type === "run_started" && interruptions.stop.aborted) void abortOrDetach(run, session);
    }
  };
  const shown = show(session.events({ after: state.seq, signal: streamEnd.signal }));
  shown.catch(() => {});
  const exitWatch = watchForExit(run, session);
  const steeringInput = listenForMessages(run, session, state);
  try {
    const result = await Promise.race([action(), exitWatch.exited]);
    await steeringInput?.end("exitCode" in result || !waitsForSomething(result) ? "discard" : "finish");
    streamEnd.abort();
    const [showing] = await Promise.allSettled([shown]);
    // After a failure of the store, the stream fails too. The result has the cause.
    if ("exitCode" in result || result.status === "interrupted") return result;
    if (showing.status === "rejected") throw showing.reason;
    // If another process ended the run, the stream may have been aborted before it showed the end.
    if (!state.hasEnd) await show(session.events({ after: state.seq, follow: false }));
    return result;
  } finally {
    await steeringInput?.end("discard");
    exitWatch.dispose();
    streamEnd.abort();
    view.pause();
  }
}

function waitsForSomething({ status }: RunResult): boolean {
  return status === "awaiting_human" || status === "waiting";
}

function updateState(state: ShownState, item: StreamItem): void {
  if ("seq" in item) {
    state.seq = item.seq;
    state.hasEnd = item.type === "final" || item.type === "suspended";
  }
  if (item.type === "tool_call") state.undecided.add(item.callKey);
  if (item.type === "approval_requested") state.undecided.delete(item.callKey);
  if (item.type !== "tool_result" || !state.undecided.has(item.callKey)) return;
  if (item.name === personTool) state.unanswered += 1;
  else if (item.outcome === "denied") state.denied += 1;
}

const ctrlCReason = { note: "Ctrl-C" };

/** `exited` resolves if the process should exit before the run has ended. */
function watchForExit(run: TerminalRun, session: Session) {
  const { agent, interruptions, terminal } = run;
  let resolve = (_: EarlyExit) => {};
  const exited = new Promise<EarlyExit>((settle) => {
    resolve = settle;
  });
  const onStop = async () => {
    if ((await abortOrDetach(run, session)) === "detached") resolve({ exitCode: exitCodes.aborted });
  };
  const onLeave = async () => {
    terminal.err(`Exiting: running tools have ${graceMs / 1_000} s to finish.\n`);
    await agent.shutdown({ graceMs });
    // If this process drives the run, the run's result is available now. It says more than the exit code.
    await setImmediate();
    resolve({ exitCode: exitCodes.interrupted });
  };
  interruptions.stop.addEventListener("abort", onStop, { once: true });
  interruptions.shutdown.addEventListener("abort", onLeave, { once: true });
  const dispose = () => {
    interruptions.stop.removeEventListener("abort", onStop);
    interruptions.shutdown.removeEventListener("abort", onLeave);
  };
  return { exited, dispose };
}

/** Aborts the run if this process drives it. A run of another process continues: this process only follows it. */
async function abortOrDetach({ store, terminal }: TerminalRun, session: Session): Promise<"aborted" | "detached"> {
  try {
    const holder = (await findSession(store, session.id))?.holder ?? null;
    if (holder !== null && holder.pid !== process.pid && !isHolderDead(holder)) {
      const id = sanitize(shortId(session.id));
      terminal.hint(`The run continues in process ${holder.pid}. To end it: pawl abort ${id}\n`);
      return "detached";
    }
    await session.abort(ctrlCReason);
  } catch (error) {
    // The store that refused the abort also fails the run. If not, a second Ctrl-C exits at once.
    terminal.err(`${terminal.redaction.text(formatError(error, false))}\n`);
  }
  return "aborted";
}

type SendAnswer = (session: Session) => Promise<unknown>;

/** An answer that does not fit the question of a tool is reported, and the question stays open. */
function keepQuestionOpen(send: SendAnswer, { terminal }: TerminalRun): SendAnswer {
  return async (session) => {
    try {
      await send(session);
    } catch (error) {
      if (!(error instanceof PawlError && error.code === "bad_input")) throw error;
      terminal.err(`${terminal.redaction.text(formatError(error, false))}\n`);
    }
  };
}

/** Answers from the permissions, else from the person. Empty if the person leaves before the last answer. */
async function collectAnswers(approvals: readonly PendingApproval[], run: TerminalRun): Promise<readonly SendAnswer[]> {
  const collected: SendAnswer[] = [];
  for (const approval of approvals) {
    const { why } = approval;
    const canBeAllowed = why === "policy" || why === "provider";
    const decision =
      canBeAllowed && (await run.permissions.isAllowed(approval, await loadSessionRules(run)))
        ? answers.allow.decide()
        : run.canAsk
          ? await askApproval(approval, run)
          : null;
    if (decision !== null) {
      const send: SendAnswer = (session) => sendDecision(session, approval, decision, resolveUserName());
      collected.push(why === "tool" ? keepQuestionOpen(send, run) : send);
    } else if (run.canAsk) return [];
  }
  return collected;
}

/** The rules of the session, which apply to its children as well. */
async function loadSessionRules({ agent, sessionId }: TerminalRun): Promise<SessionRules> {
  return { sessionId, data: (await loadSessionData(agent.session(sessionId))) ?? {} };
}
