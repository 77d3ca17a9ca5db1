/**
 * Lists, finds and shows the calls that wait for a person.
 *
 * The id of a call is `session/step/position`, as `3f8c2a1b/1/2`: the beginning of its session's id, and the end of
 * its key.
 */
import { PawlError, pendingApprovals, type Store, type StoredApproval } from "../index.js";
import { callTitle } from "./call-title.js";
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

/**
 * @param question the question of a tool, if its call asks several
 * @throws PawlError `bad_input` if the id names more than one call, or a call that asks several questions
 */
export function onlyMatch(
  matches: readonly PendingCall[],
  id: string,
  style: StyleText,
  question?: string,
): PendingCall | undefined {
  const found = question === undefined ? matches : matches.filter(({ questionId }) => questionId === question);
  const [first, ...others] = found;
  const isOneCall = others.every(
    ({ callKey, sessionId }) => callKey === first?.callKey && sessionId === first.sessionId,
  );
  if (first?.questionId !== undefined && others.length > 0 && isOneCall) {
    const names = found.map(({ questionId }) => `--question ${JSON.stringify(questionId)}`).join(", ");
    throw new PawlError("bad_input", `Call ${first.id} asks ${found.length} questions. Name one: ${names}.`);
  }
  if (others.length === 0) return first;
  const lines = found.map((call) => `  ${listedOf(call, Date.now(), style)}`);
  throw new PawlError(
    "bad_input",
    `${JSON.stringify(id)} names ${found.length} calls. Give the id of one:\n${lines.join("\n")}`,
  );
}

/** `3f8c2a1b/1/2  write_file  needs approval, asked 5 min ago, expires in 2 h` */
function titleOf(call: PendingCall, now: number, style: StyleText): string {
  return titled(call, exact(call.name), now, style);
}

/** In a list, the path or the command tells the calls of one tool apart: `3f8c2a1b/1/2  write_file a.txt  needs …` */
export function listedOf(call: PendingCall, now: number, style: StyleText): string {
  return titled(call, callTitle(call.name, call.input, maxTitleColumns), now, style);
}

function titled(call: PendingCall, title: string, now: number, style: StyleText): string {
  const { id, askedAt, expiresAt, why } = call;
  const facts = [`asked ${agoOf(askedAt, now)}`];
  if (expiresAt !== undefined) facts.push(expiresAt > now ? `expires in ${duration(expiresAt - now)}` : "expired");
  return `${style("bold", visible(id))}  ${style("yellow", title)}  ${reasons[why]}, ${facts.join(", ")}`;
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
  tool: "asks you",
};

/** The call with its whole input: nothing is left out or hidden. */
export function describe(call: PendingCall, now: number, style: StyleText): string {
  const lines = [titleOf(call, now, style), style("dim", `  ${sessionLine(call)}`)];
  if (call.question !== undefined) lines.push(`  ${exact(call.question)}`);
  if (call.url !== undefined) lines.push(`  ${exact(call.url)}`);
  if (call.questionId !== undefined) lines.push(style("dim", `  question ${exact(call.questionId)}${wantedOf(call)}`));
  lines.push(wholeInput(call.input).replace(/^/gm, "    "));
  return `${lines.join("\n")}\n`;
}

/** What the answer to a tool must be. */
function wantedOf({ schema }: Pick<PendingCall, "schema">): string {
  return schema === undefined ? "" : `, answered with ${exact(JSON.stringify(schema).slice(0, maxSchemaCharacters))}`;
}

const maxSchemaCharacters = 2_000;
const maxTitleColumns = 60;

function sessionLine({ sessionId, session }: PendingCall): string {
  const { agent, title, root, top, parent } = session;
  const parts = [`session ${visible(sessionId)} of ${visible(agent)}`];
  if (title !== undefined) parts.push(`"${cut(oneLine(title), maxTitleColumns)}"`);
  if (root !== undefined) parts.push(`in ${visible(root)}`);
  if (parent !== undefined) parts.push(`for session ${visible(top ?? parent.sessionId)}`);
  return parts.join(" · ");
}
