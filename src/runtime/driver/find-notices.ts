/**
 * The notices of a commit: that a run waits for a person, or has ended.
 *
 * 1. A notice names what happened and where. It contains nothing that a person, a model or a tool wrote; its receiver asks Pawl for that.
 * 2. Only the session at the top of a family gives notices. A question of a child is a question of the parent that awaits the child;
 *    a child in the background gives the notices of its questions itself.
 */
import { defined } from "../../core/data/defined.js";
import type { Json } from "../../core/data/message.js";
import { reasons } from "../../core/data/reasons.js";
import { asksOutside, type Call, hasCalls, type State } from "../../core/machine/state.js";
import { askedAt } from "../../core/view/outcome.js";
import type { CommittedNotice } from "../../ports/notice-store.js";
import type { CommittedEntry } from "../log/committed-entry.js";

const noNotices: readonly CommittedNotice[] = [];

/** @param at the commit's time, in epoch milliseconds */
export function findNotices(
  sessionId: string,
  entries: readonly CommittedEntry[],
  at: number,
): readonly CommittedNotice[] {
  const [first] = entries;
  const last = entries.at(-1);
  if (first === undefined || last === undefined) return noNotices;
  const parent = last.after.session?.parent;
  if (parent !== undefined && parent.background !== true) return noNotices;
  const ended = parent !== undefined ? noNotices : entries.flatMap((entry) => findEnd(sessionId, entry, at));
  const asked = findQuestion(sessionId, first.before, last, at);
  return ended.length === 0 && asked === null ? noNotices : [...ended, ...(asked === null ? [] : [asked])];
}

function findEnd(sessionId: string, { entry, after }: CommittedEntry, at: number): readonly CommittedNotice[] {
  const { event, seq } = entry;
  if (event.type !== "run_finished") return noNotices;
  const { runId, reason } = event;
  const { status } = reasons[reason];
  return [createNotice("run.ended", { sessionId, seq, at, state: after }, { runId, status, reason })];
}

/** A question that opens while another is open gives no notice: `askedAt` is the time of the oldest open question. */
function findQuestion(
  sessionId: string,
  before: State,
  { entry: { seq }, after }: CommittedEntry,
  at: number,
): CommittedNotice | null {
  const since = askedAt(after);
  if (since === null || since === askedAt(before) || !hasCalls(after)) return null;
  const tools = after.calls.flatMap((call) => (asksOutside(call) || hasHeldQuestion(call) ? [call.name] : []));
  return createNotice(
    "run.waiting",
    { sessionId, seq, at, state: after },
    { runId: after.runId, tools: [...new Set(tools)], askedAt: since },
  );
}

/** Whether the call asks a question and continues to run meanwhile. */
function hasHeldQuestion(call: Call): boolean {
  return call.status === "running" && call.held !== undefined;
}

function createNotice(
  type: "run.waiting" | "run.ended",
  { sessionId, seq, at, state }: { sessionId: string; seq: number; at: number; state: State },
  more: { readonly [name: string]: Json },
): CommittedNotice {
  const { agent, principal } = state.session ?? {};
  const data = { sessionId, ...defined({ agent, principal }), ...more };
  return {
    id: `${sessionId}/${seq}/${type}`,
    notice: { type, timestamp: new Date(at).toISOString(), data },
  };
}
