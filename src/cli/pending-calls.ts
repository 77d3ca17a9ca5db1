/**
 * Lists, finds and shows the calls that wait for a person.
 *
 * The id of a call is `session/step/position`, as `3f8c2a1b/1/2`: the beginning of its session's id, and the end of
 * its key.
 */
import { PawlError, pendingApprovals, type Store, type StoredApproval } from "../index.js";
import { shortId } from "./home.js";
import type { Redaction } from "./redaction.js";
import { age, cut, duration, exact, oneLine, visible, wholeInput } from "./text.js";
import type { StyleText } from "./text-style.js";

export type PendingCall = StoredApproval & {
  /** `session/step/position`, which the commands print and take. */
  readonly id: string;
};

/**
 * All calls that wait, the longest first. The description of a session is redacted. The call itself is not: a person
 * must see what would run.
 */
export async function listPending(store: Store, redaction?: Redaction): Promise<readonly PendingCall[]> {
  const found: StoredApproval[] = [];
  for await (const call of pendingApprovals(store))
    found.push({ ...call, session: redaction?.value(call.session) ?? call.session });
  const sessions = [...new Set(found.map(({ sessionId }) => sessionId))];
  const calls = found.map((call) => ({ ...call, id: callId(shortId(call.sessionId, sessions), call.callKey) }));
  return calls.sort((a, b) => a.askedAt - b.askedAt);
}

/** The id of a call: its key, with the session instead of the run. */
export function callId(session: string, callKey: string): string {
  const { step, position } = splitId(callKey);
  return `${session}/${step}/${position}`;
}

type CallIdParts = { readonly head: string; readonly step?: string; readonly position?: string };

/** Splits `head/step/position`. The head is a session or a run; it may stand alone. */
export function splitId(id: string): CallIdParts {
  const [, head, step, position] = /^(.*)\/(\d+)\/(\d+)$/s.exec(id) ?? [];
  return head === undefined || step === undefined || position === undefined ? { head: id } : { head, step, position };
}

/** The calls that an id names: a call, a session or the sessions that it started. The beginning of an id is enough. */
export function matching(pending: readonly PendingCall[], id: string): readonly PendingCall[] {
  const exact = pending.filter((call) => matchesId(call, id, (text, head) => text === head));
  return exact.length > 0
    ? exact
    : pending.filter((call) => matchesId(call, id, (text, head) => text.startsWith(head)));
}

function matchesId(pending: PendingCall, id: string, matches: (text: string, head: string) => boolean): boolean {
  const call = splitId(pending.callKey);
  const { head, step, position } = splitId(id);
  if (head === "" || (step !== undefined && (step !== call.step || position !== call.position))) return false;
  const { sessionId, session } = pending;
  return [sessionId, session.top, call.head].some((text) => text !== undefined && matches(text, head));
}

/** @throws PawlError `bad_input` if the id names more than one call */
export function onlyMatch(found: readonly PendingCall[], id: string, style: StyleText): PendingCall | undefined {
  const [first, ...others] = found;
  if (others.length === 0) return first;
  const lines = found.map((call) => `  ${titleOf(call, Date.now(), style)}`);
  throw new PawlError(
    "bad_input",
    `${JSON.stringify(id)} names ${found.length} calls. Give the id of one:\n${lines.join("\n")}`,
  );
}

/** `3f8c2a1b/1/2  write_file  asked 5 min ago, expires in 2 h` */
export function titleOf({ id, name, askedAt, expiresAt, why }: PendingCall, now: number, style: StyleText): string {
  const facts = [`asked ${agoOf(askedAt, now)}`];
  if (expiresAt !== undefined) facts.push(expiresAt > now ? `expires in ${duration(expiresAt - now)}` : "expired");
  return `${style("bold", visible(id))}  ${style("yellow", exact(name))}  ${reasons[why]}, ${facts.join(", ")}`;
}

export function agoOf(at: number, now: number): string {
  const passed = age(now - at);
  return passed === "now" ? "just now" : `${passed} ago`;
}

const reasons: { readonly [why in PendingCall["why"]]: string } = {
  policy: "needs approval",
  provider: "is run by the provider, needs approval",
  recovery: "was interrupted, outcome unknown",
  external: "runs elsewhere, needs a result",
};

/** The call with its whole input: nothing is left out or hidden. */
export function describe(call: PendingCall, now: number, style: StyleText): string {
  const lines = [titleOf(call, now, style), style("dim", `  ${sessionLine(call)}`)];
  if (call.question !== undefined) lines.push(`  ${exact(call.question)}`);
  lines.push(wholeInput(call.input).replace(/^/gm, "    "));
  return `${lines.join("\n")}\n`;
}

const maxTitleColumns = 60;

function sessionLine({ sessionId, session }: PendingCall): string {
  const { agent, title, root, top, parent } = session;
  const parts = [`session ${visible(sessionId)} of ${visible(agent)}`];
  if (title !== undefined) parts.push(`"${cut(oneLine(title), maxTitleColumns)}"`);
  if (root !== undefined) parts.push(`in ${visible(root)}`);
  if (parent !== undefined) parts.push(`for session ${visible(top ?? parent.sessionId)}`);
  return parts.join(" · ");
}
