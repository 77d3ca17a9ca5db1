/**
 * Lists, finds and formats the calls that wait for a person.
 *
 * The id of a call is `session/step/position`, such as `3f8c2a1b/1/2`: the beginning of its session's id, and the end of its
 * key.
 */
import { PawlError, pendingApprovals, type Store, type StoredApproval } from "../../index.js";
import { shortId } from "../files/session-store.js";
import { formatCallTitle } from "../render/format-call.js";
import type { Redaction } from "../terminal/redaction.js";
import {
  formatAge,
  formatDuration,
  formatInput,
  sanitize,
  sanitizeStrictly,
  toOneLine,
  truncate,
} from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";
import { formatReplyChoices, haveNumbers, listReplyChoices } from "./reply-choices.js";

export type PendingCall = StoredApproval & {
  /** `session/step/position`, which the commands print and accept. */
  readonly id: string;
};

/**
 * Lists all waiting calls, oldest first. The description of a session is redacted. The call itself is not: a person must see what
 * would run.
 */
export async function listPendingCalls(store: Store, redaction?: Redaction): Promise<readonly PendingCall[]> {
  const found: StoredApproval[] = [];
  for await (const call of pendingApprovals(store))
    found.push({ ...call, session: redaction?.value(call.session) ?? call.session });
  const sessions = [...new Set(found.map(({ sessionId }) => sessionId))];
  const calls = found.map((call) => ({ ...call, id: formatCallId(shortId(call.sessionId, sessions), call.callKey) }));
  return calls.sort((a, b) => a.askedAt - b.askedAt);
}

/** Formats the id of a call: its key, with the session instead of the run. */
export function formatCallId(session: string, callKey: string): string {
  const { step, position } = parseCallId(callKey);
  return `${session}/${step}/${position}`;
}

type CallIdParts = { readonly head: string; readonly step?: string; readonly position?: string };

/** Splits `head/step/position`. The head is a session or a run, and can be alone. */
export function parseCallId(id: string): CallIdParts {
  const [, head, step, position] = /^(.*)\/(\d+)\/(\d+)$/s.exec(id) ?? [];
  return head === undefined || step === undefined || position === undefined ? { head: id } : { head, step, position };
}

/** The calls that match an id: of a call, of a session, or of its top session. A prefix of an id is enough. */
export function findMatchingCalls(pending: readonly PendingCall[], id: string): readonly PendingCall[] {
  const exact = pending.filter((call) => matchesId(call, id, (text, head) => text === head));
  return exact.length > 0
    ? exact
    : pending.filter((call) => matchesId(call, id, (text, head) => text.startsWith(head)));
}

function matchesId(pending: PendingCall, id: string, matches: (text: string, head: string) => boolean): boolean {
  const call = parseCallId(pending.callKey);
  const { head, step, position } = parseCallId(id);
  if (head === "" || (step !== undefined && (step !== call.step || position !== call.position))) return false;
  const { sessionId, session } = pending;
  return [sessionId, session.top, call.head].some((text) => text !== undefined && matches(text, head));
}

/**
 * @param question the id of a question, if the call asks several
 * @throws PawlError `bad_input` if the id names more than one call, or a call that asks several questions
 */
export function requireOneMatch(
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
  const lines = found.map((call) => `  ${formatListed(call, Date.now(), style)}`);
  throw new PawlError(
    "bad_input",
    `${JSON.stringify(id)} matches ${found.length} calls. Give the id of one:\n${lines.join("\n")}`,
  );
}

/** `3f8c2a1b/1/2  write_file  needs approval, asked 5 min ago, expires in 2 h` */
function formatTitle(call: PendingCall, now: number, style: StyleText): string {
  return formatWithTitle(call, sanitizeStrictly(call.name), now, style);
}

/** For lists: the path or the command distinguishes calls of the same tool: `3f8c2a1b/1/2  write_file a.txt  needs …` */
export function formatListed(call: PendingCall, now: number, style: StyleText): string {
  return formatWithTitle(call, formatCallTitle(call.name, call.input, maxTitleColumns), now, style);
}

function formatWithTitle(call: PendingCall, title: string, now: number, style: StyleText): string {
  const { id, askedAt, expiresAt, why } = call;
  const facts = [`asked ${formatAgo(askedAt, now)}`];
  if (expiresAt !== undefined)
    facts.push(expiresAt > now ? `expires in ${formatDuration(expiresAt - now)}` : "expired");
  return `${style("bold", sanitize(id))}  ${style("yellow", title)}  ${reasonTexts[why]}, ${facts.join(", ")}`;
}

export function formatAgo(at: number, now: number): string {
  const passed = formatAge(now - at);
  return passed === "now" ? "just now" : `${passed} ago`;
}

const reasonTexts: { readonly [why in PendingCall["why"]]: string } = {
  policy: "needs approval",
  provider: "is run by the provider, needs approval",
  recovery: "was interrupted, outcome unknown",
  external: "runs elsewhere, needs a result",
  tool: "asks you",
};

/** Formats a call with its whole input: nothing is omitted or hidden. */
export function formatCall(call: PendingCall, now: number, style: StyleText): string {
  const lines = [formatTitle(call, now, style), style("dim", `  ${formatSessionLine(call)}`)];
  if (call.question !== undefined) lines.push(sanitizeStrictly(call.question).replace(/^/gm, "  "));
  if (call.url !== undefined) lines.push(`  ${sanitizeStrictly(call.url)}`);
  if (call.questionId !== undefined)
    lines.push(style("dim", `  question ${sanitizeStrictly(call.questionId)}${formatExpectedReply(call)}`));
  lines.push(...formatReplyChoices(call.schema));
  lines.push(formatInput(call.input).replace(/^/gm, "    "));
  return `${lines.join("\n")}\n`;
}

/** Describes the schema of the reply. */
function formatExpectedReply({ schema }: Pick<PendingCall, "schema">): string {
  const choices = listReplyChoices(schema);
  if (choices.length > 0) return `, answered with one of these${haveNumbers(choices) ? ", or its number" : ""}:`;
  return schema === undefined
    ? ""
    : `, answered with ${sanitizeStrictly(JSON.stringify(schema).slice(0, maxSchemaCharacters))}`;
}

const maxSchemaCharacters = 2_000;
const maxTitleColumns = 60;

function formatSessionLine({ sessionId, session }: PendingCall): string {
  const { agent, title, root, top, parent } = session;
  const parts = [`session ${sanitize(sessionId)} of ${sanitize(agent)}`];
  if (title !== undefined) parts.push(`"${truncate(toOneLine(title), maxTitleColumns)}"`);
  if (root !== undefined) parts.push(`in ${sanitize(root)}`);
  if (parent !== undefined) parts.push(`for session ${sanitize(top ?? parent.sessionId)}`);
  return parts.join(" · ");
}
