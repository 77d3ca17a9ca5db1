/**
 * A run on the terminal, from its start to its end: shown as it happens, answered for where it asks, stopped where somebody stops it.
 *
 * It goes in legs: each shows all that happens until the run ends or waits, and only then is anybody asked.
 */
import { setImmediate } from "node:timers/promises";
import { isResting } from "../core/index.js";
import type { Store, StreamItem } from "../index.js";
import { type Agent, isHolderDead, PawlError, type PendingApproval, type RunResult, type Session } from "../index.js";
import { type Asker, ask } from "./ask-approval.js";
import { describeError, exitCodeOf, exitCodes } from "./exit.js";
import { findSession, shortId } from "./home.js";
import type { Interruptions } from "./interruptions.js";
import type { Permissions } from "./permissions.js";
import type { JsonView } from "./run-view.js";
import { listenForTyping, type Typing } from "./steering-input.js";
import type { Terminal } from "./terminal.js";
import { whoDecides } from "./user-name.js";

export type Conversation = {
  readonly agent: Agent;
  readonly sessionId: string;
  readonly store: Store;
  readonly view: JsonView;
  readonly terminal: Terminal;
  readonly permissions: Permissions;
  readonly interruptions: Interruptions;
  /** Somebody is there to be asked. */
  readonly canAsk: boolean;
};

/** The process goes, and the run is not over: the exit code. */
type Left = { readonly left: number };

/** How long what runs may take to settle when the process is told to go; milliseconds. */
const graceMs = 5_000;

/**
 * Shows a run to its end, or to where it waits for somebody who is not there.
 *
 * @param after the last entry that need not be shown
 * @param start begins the run, or goes on with it, and gives its result
 * @returns the exit code
 */
export async function converse(
  conversation: Conversation,
  after: number,
  start: (session: Session) => Promise<RunResult>,
): Promise<number> {
  const { agent, sessionId, view, terminal, canAsk } = conversation;
  const session = agent.session(sessionId);
  const seen: Seen = { seq: after, unasked: new Set(), denied: 0, hasEnd: false, hasSteered: false };
  let result = await leg(conversation, session, seen, () => start(session));
  while (!("left" in result)) {
    if (result.status !== "awaiting_human") {
      if (!(await isUnderWay(session, seen))) break;
      result = await leg(conversation, session, seen, () => outcomeOf(session));
      continue;
    }
    const answers = await answersTo(result.approvals, conversation);
    if (conversation.interruptions.stop.aborted)
      result = await leg(conversation, session, seen, async () => {
        await session.abort(byCtrlC);
        return outcomeOf(session);
      });
    else if (answers.length === 0 || conversation.interruptions.leave.aborted) break;
    else
      result = await leg(conversation, session, seen, async () => {
        for (const answer of answers) await answer(session);
        return outcomeOf(session);
      });
  }
  if ("left" in result) return result.left;
  view.end(result);
  if (seen.denied > 0 && !canAsk) terminal.err(`${nobodyAsked(seen.denied)}\n`);
  return exitCodeOf(result);
}

/** The result from here on: also where the run has ended meanwhile. */
export async function outcomeOf(session: Session): Promise<RunResult> {
  try {
    return await session.resume();
  } catch (error) {
    const result = error instanceof PawlError && error.code === "run_finished" ? await session.result() : null;
    if (result === null) throw error;
    return result;
  }
}

function nobodyAsked(denied: number): string {
  return `Denied, since nobody could be asked: ${denied} ${denied === 1 ? "call" : "calls"}. Run it on a terminal, let it wait with --park, or allow every tool with --yes.`;
}

/** What was shown, and said. */
type Seen = {
  /** The last entry. */
  seq: number;
  /** Calls that nobody was asked about, and how many of them were denied. */
  readonly unasked: Set<string>;
  denied: number;
  /** The end was the last of it. */
  hasEnd: boolean;
  hasSteered: boolean;
};

/** What a person says when the run is just over begins the next one. */
async function isUnderWay(session: Session, { hasSteered }: Seen): Promise<boolean> {
  return hasSteered && !isResting(await session.state());
}

/** What the person types goes in before the next model call. */
function listen({ terminal, interruptions, canAsk }: Conversation, session: Session, seen: Seen): Typing | null {
  if (!canAsk) return null;
  const onLine = async (line: string) => {
    try {
      await session.steer(line);
      seen.hasSteered = true;
      terminal.err(`${terminal.paint("dim", "  It goes in before the next model call.")}\n`);
    } catch (error) {
      terminal.err(`  It was not said: ${terminal.redaction.text(describeError(error, false))}\n`);
    }
  };
  return listenForTyping({ terminal, interruptions, onLine });
}

async function leg(
  conversation: Conversation,
  session: Session,
  seen: Seen,
  act: () => Promise<RunResult>,
): Promise<RunResult | Left> {
  const { view, interruptions } = conversation;
  const over = new AbortController();
  const show = async (items: AsyncIterable<StreamItem>) => {
    for await (const item of items) {
      view.see(item);
      note(seen, item);
      // Ctrl-C before there was a run to end.
      if (item.type === "run_started" && interruptions.stop.aborted) void stop(conversation, session);
    }
  };
  const shown = show(session.events({ after: seen.seq, signal: over.signal }));
  shown.catch(() => {});
  const departure = watchDeparture(conversation, session);
  const typing = listen(conversation, session, seen);
  try {
    const result = await Promise.race([act(), departure.left]);
    await typing?.end("left" in result || result.status !== "awaiting_human" ? "leave" : "finish");
    over.abort();
    const [watched] = await Promise.allSettled([shown]);
    // A store that gave out can show no more; the result says so.
    if ("left" in result || result.status === "interrupted") return result;
    if (watched.status === "rejected") throw watched.reason;
    // A run that another process ended may have ended before it was followed.
    if (!seen.hasEnd) await show(session.events({ after: seen.seq, follow: false }));
    return result;
  } finally {
    await typing?.end("leave");
    departure.forget();
    over.abort();
    view.pause();
  }
}

function note(seen: Seen, item: StreamItem): void {
  if ("seq" in item) {
    seen.seq = item.seq;
    seen.hasEnd = item.type === "final" || item.type === "suspended";
  }
  if (item.type === "tool_call") seen.unasked.add(item.callKey);
  if (item.type === "approval_requested") seen.unasked.delete(item.callKey);
  if (item.type === "tool_result" && item.outcome === "denied" && seen.unasked.has(item.callKey)) seen.denied += 1;
}

const byCtrlC = { note: "Ctrl-C" };

/** Resolves where the process goes before the run has ended. */
function watchDeparture(conversation: Conversation, session: Session) {
  const { agent, interruptions, terminal } = conversation;
  let resolve = (_: Left) => {};
  const left = new Promise<Left>((settle) => {
    resolve = settle;
  });
  const onStop = async () => {
    if ((await stop(conversation, session)) === "detached") resolve({ left: exitCodes.aborted });
  };
  const onLeave = async () => {
    terminal.err(`Leaving: what runs has ${graceMs / 1_000} s to settle.\n`);
    await agent.shutdown({ graceMs });
    // A run that was driven here has its result by now, and tells more.
    await setImmediate();
    resolve({ left: exitCodes.interrupted });
  };
  interruptions.stop.addEventListener("abort", onStop, { once: true });
  interruptions.leave.addEventListener("abort", onLeave, { once: true });
  const forget = () => {
    interruptions.stop.removeEventListener("abort", onStop);
    interruptions.leave.removeEventListener("abort", onLeave);
  };
  return { left, forget };
}

/** Ends the run where this process drives it. A run of another process is left alone: who only watches ends nothing. */
async function stop({ store, terminal }: Conversation, session: Session): Promise<"aborted" | "detached"> {
  try {
    const holder = (await findSession(store, session.id))?.holder ?? null;
    if (holder !== null && holder.pid !== process.pid && !isHolderDead(holder)) {
      const id = shortId(session.id);
      terminal.err(`The run goes on in process ${holder.pid}. To end it: pawl abort ${id}\n`);
      return "detached";
    }
    await session.abort(byCtrlC);
  } catch (error) {
    // The run fails by the same store; a second Ctrl-C leaves at once.
    terminal.err(`${terminal.redaction.text(describeError(error, false))}\n`);
  }
  return "aborted";
}

type Answering = (session: Session) => Promise<unknown>;

/** What is to be answered: by what was allowed before, and by whom can be asked. Nothing where they leave. */
async function answersTo(
  approvals: readonly PendingApproval[],
  conversation: Conversation & Asker,
): Promise<readonly Answering[]> {
  const answers: Answering[] = [];
  for (const approval of approvals) {
    const { callKey, name, why, inputHash } = approval;
    const decision =
      why === "policy" && conversation.permissions.isAllowed(name)
        ? ({ type: "approve" } as const)
        : conversation.canAsk
          ? await ask(approval, conversation)
          : null;
    const shown = { by: whoDecides(), ...(inputHash === undefined ? {} : { inputHash }) };
    if (decision !== null) answers.push((session) => session.answer(callKey, decision, shown));
    else if (conversation.canAsk) return [];
  }
  return answers;
}
