/**
 * What waits for a person: how it is called, found and shown.
 *
 * A call is called `session/step/position`, as `3f8c2a1b/1/2`: the beginning of its session's id, and the end of its key.
 */
import { PawlError, pendingApprovals, type Store, type StoredApproval } from "../index.js";
import { shortId } from "./home.js";
import type { Redaction } from "./redaction.js";
import { age, cut, duration, exact, oneLine, visible, wholeInput } from "./text.js";
import type { Paint } from "./text-style.js";

export type PendingCall = StoredApproval & {
  /** What a person calls it. */
  readonly id: string;
};

/** All that waits, the longest first. The calls are as they would run; what is said of their sessions is redacted. */
export async function listPending(store: Store, redaction?: Redaction): Promise<readonly PendingCall[]> {
  const found: StoredApproval[] = [];
  for await (const one of pendingApprovals(store))
    found.push({ ...one, session: redaction?.value(one.session) ?? one.session });
  const sessions = [...new Set(found.map(({ sessionId }) => sessionId))];
  const named = found.map((one) => ({ ...one, id: callId(shortId(one.sessionId, sessions), one.callKey) }));
  return named.sort((a, b) => a.askedAt - b.askedAt);
}

/** The name of a call: its key, with the session in the place of the run. */
export function callId(session: string, callKey: string): string {
  const { step, position } = splitId(callKey);
  return `${session}/${step}/${position}`;
}

type CallName = { readonly head: string; readonly step?: string; readonly position?: string };

/** Splits `head/step/position`; a head alone is a session, or a run. */
export function splitId(id: string): CallName {
  const [, head, step, position] = /^(.*)\/(\d+)\/(\d+)$/s.exec(id) ?? [];
  return head === undefined || step === undefined || position === undefined ? { head: id } : { head, step, position };
}

/** What an id may mean: a session, its children too, or a call, each by its beginning. */
export function matching(pending: readonly PendingCall[], id: string): readonly PendingCall[] {
  const exactly = pending.filter((one) => isMeant(one, id, (text, wanted) => text === wanted));
  return exactly.length > 0
    ? exactly
    : pending.filter((one) => isMeant(one, id, (text, wanted) => text.startsWith(wanted)));
}

function isMeant(one: PendingCall, id: string, fits: (text: string, wanted: string) => boolean): boolean {
  const call = splitId(one.callKey);
  const { head, step, position } = splitId(id);
  if (head === "" || (step !== undefined && (step !== call.step || position !== call.position))) return false;
  const { sessionId, session } = one;
  return [sessionId, session.top, call.head].some((text) => text !== undefined && fits(text, head));
}

/** @throws PawlError `bad_input` where more than one call is meant */
export function theOne(found: readonly PendingCall[], id: string, paint: Paint): PendingCall | undefined {
  const [first, ...others] = found;
  if (others.length === 0) return first;
  const lines = found.map((one) => `  ${titleOf(one, Date.now(), paint)}`);
  throw new PawlError(
    "bad_input",
    `${found.length} calls are meant by ${JSON.stringify(id)}. Name one:\n${lines.join("\n")}`,
  );
}

/** `3f8c2a1b/1/2  write_file  asked 5 min ago, expires in 2 h` */
export function titleOf({ id, name, askedAt, expiresAt, why }: PendingCall, now: number, paint: Paint): string {
  const facts = [`asked ${agoOf(askedAt, now)}`];
  if (expiresAt !== undefined) facts.push(expiresAt > now ? `expires in ${duration(expiresAt - now)}` : "expired");
  return `${paint("bold", visible(id))}  ${paint("yellow", exact(name))}  ${reasons[why]}, ${facts.join(", ")}`;
}

export function agoOf(at: number, now: number): string {
  const passed = age(now - at);
  return passed === "now" ? "just now" : `${passed} ago`;
}

const reasons: { readonly [why in PendingCall["why"]]: string } = {
  policy: "needs approval",
  recovery: "was interrupted, its outcome is unknown",
  external: "its result comes from elsewhere",
};

/** The whole call: nothing of its input is left out or hidden. */
export function describe(one: PendingCall, now: number, paint: Paint): string {
  const lines = [titleOf(one, now, paint), paint("dim", `  ${whereOf(one)}`)];
  if (one.question !== undefined) lines.push(`  ${exact(one.question)}`);
  lines.push(wholeInput(one.input).replace(/^/gm, "    "));
  return `${lines.join("\n")}\n`;
}

const longestTitle = 60;

function whereOf({ sessionId, session }: PendingCall): string {
  const { agent, title, root, top, parent } = session;
  const parts = [`session ${visible(sessionId)} of ${visible(agent)}`];
  if (title !== undefined) parts.push(`"${cut(oneLine(title), longestTitle)}"`);
  if (root !== undefined) parts.push(`in ${visible(root)}`);
  if (parent !== undefined) parts.push(`for session ${visible(top ?? parent.sessionId)}`);
  return parts.join(" · ");
}
