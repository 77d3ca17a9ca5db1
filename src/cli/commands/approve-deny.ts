/**
 * `pawl approve` and `pawl deny`: answer a waiting call of any process and any agent.
 *
 * 1. The whole call is shown, and the answer counts only for the input that was shown (SEC-6).
 * 2. The answer is posted. Nothing runs here unless `--resume` is set.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { canonicalJson, parseJson } from "../../core/index.js";
import {
  type ApprovalDecision,
  type ClientSession,
  createClient,
  type GivenAnswer,
  type Json,
  PawlError,
  type Store,
} from "../../index.js";
import { type AnswerChoice, answers, listAnswerChoices } from "../../view/question-choices.js";
import { type Continuation, findWhoContinues } from "../decisions/find-who-continues.js";
import {
  findMatchingCalls,
  formatAgo,
  formatCall,
  formatCallId,
  listPendingCalls,
  type PendingCall,
  parseCallId,
  requireOneMatch,
} from "../decisions/pending-calls.js";
import { parseToolReply } from "../decisions/reply-choices.js";
import { confirmationTexts, sendDecision } from "../decisions/send-decision.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodes } from "../exit.js";
import { findSession, getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import type { DriveOptions } from "../run/drive-session.js";
import { editText, findEditor } from "../terminal/editor.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize, sanitizeStrictly } from "../terminal/text.js";

export type AnswerCommandOptions = DriveOptions & {
  readonly edit?: true;
  readonly input?: string;
  readonly rerun?: true;
  readonly result?: string;
  readonly reply?: string;
  readonly question?: string;
  readonly failed?: true;
  readonly note?: string;
  readonly hash?: string;
  readonly by?: string;
  readonly resume?: true;
};

type Verb = "approve" | "deny";

export async function answer(verb: Verb, id: string, options: AnswerCommandOptions, terminal: Terminal) {
  const store = await openStore(resolveHome(process.env));
  const outcome = await decideIn(store, verb, id, options, terminal).finally(() => store.close());
  if (!outcome.isFirst) return outcome.isSame ? exitCodes.done : exitCodes.usage;
  if (options.resume !== true) return exitCodes.done;
  // Imported lazily: it loads the model, the tools and the permissions, which an answer alone does not need.
  const { resume } = await import("./resume.js");
  return resume(outcome.sessionId, options, terminal);
}

type DecisionOutcome = { readonly sessionId: string; readonly isFirst: boolean; readonly isSame: boolean };

async function decideIn(
  store: Store,
  verb: Verb,
  id: string,
  options: AnswerCommandOptions,
  terminal: Terminal,
): Promise<DecisionOutcome> {
  const all = await listPendingCalls(store, terminal.redaction);
  const pending = requireOneMatch(findMatchingCalls(all, id), id, terminal.style, options.question);
  if (pending === undefined) return reportEarlierDecision(await findAnsweredCall(store, id), verb, options, terminal);
  terminal.err(formatCall(pending, Date.now(), terminal.style));
  assertHash(pending, options.hash);
  const session = createClient({ store }).session(pending.sessionId);
  const decision = await toDecision(verb, pending, options);
  const status = await sendDecision(session, pending, decision, resolveUserName(options.by));
  const call = { session, callKey: pending.callKey, id: pending.id };
  if (status === "second") return reportEarlierDecision(call, verb, options, terminal);
  const { sessionId, callKey, name } = pending;
  const others = all.filter((call) => call.sessionId === sessionId).length - 1;
  if (options.json === true) terminal.json({ sessionId, callKey, answer: decision.type, status });
  else {
    terminal.out(`${confirmationTexts[decision.type]} ${sanitize(pending.id)} (${sanitizeStrictly(name)}).\n`);
    if (options.resume !== true)
      terminal.hint(`${formatNextStep(await findWhoContinues(store, pending), pending, others)}\n`);
  }
  return { sessionId, isFirst: true, isSame: true };
}

/** @throws PawlError `bad_input` if the input has changed since the person listed the call */
function assertHash({ inputHash = "", id }: PendingCall, hash: string | undefined): void {
  if (hash === undefined) return;
  if (!/^[0-9a-f]{8,64}$/.test(hash))
    throw new PawlError(
      "bad_input",
      "--hash takes the first 8 characters or more of the inputHash that pawl approvals --json prints.",
    );
  if (!inputHash.startsWith(hash))
    throw new PawlError(
      "bad_input",
      `The input of ${id} has changed: its hash does not match --hash. Review it again with pawl approvals.`,
    );
}

/** The answers that each option can mean. A call accepts at most one of them. */
const namesByOption = {
  edit: ["edit"],
  input: ["edit"],
  rerun: ["again"],
  result: ["done", "result"],
  reply: ["reply"],
  failed: ["failed", "undone", "decline"],
} as const satisfies { readonly [option in keyof AnswerCommandOptions]: readonly AnswerChoice["name"][] };

const optionNames = Object.keys(namesByOption) as readonly (keyof typeof namesByOption)[];

/** An interrupted call accepts neither a plain yes nor a plain no. */
const namesByVerb: { readonly [verb in Verb]: readonly AnswerChoice["name"][] } = {
  approve: ["allow"],
  deny: ["deny", "decline", "undone"],
};

/** The decision that the command makes. @throws PawlError `bad_input` if the options do not fit the call */
export function toDecision(
  verb: Verb,
  pending: PendingCall,
  options: AnswerCommandOptions,
): ApprovalDecision | Promise<ApprovalDecision> {
  const { note = "", result = "" } = options;
  const [option, ...others] = optionNames.filter((name) => name in options);
  if (option !== undefined && others.length > 0)
    throw new PawlError("bad_input", `Give only one of ${[option, ...others].map((name) => `--${name}`).join(", ")}.`);
  const names: readonly AnswerChoice["name"][] = [
    ...(option === undefined || verb === "deny" ? namesByVerb[verb] : []),
    ...(option === undefined ? [] : namesByOption[option]),
  ];
  const choices = listAnswerChoices(pending.why);
  const choice = names.flatMap((name) => choices.find((one) => one.name === name) ?? [])[0];
  if (choice === undefined) throw createWrongAnswerError(pending, verb, option);
  switch (choice.name) {
    case "allow":
    case "again":
      return choice.decide();
    case "edit":
      return createApprovalWithInput(pending, options);
    case "reply":
      return choice.decide(parseToolReply(options.reply ?? "", pending.schema));
    case "done":
    case "result":
      return choice.decide(result);
    default:
      return choice.decide(note);
  }
}

const adviceByReason: { readonly [why in PendingCall["why"]]: string } = {
  policy: "Approve it, change its input (--edit, --input), or deny it.",
  provider: "The model's provider holds its input. Approve the call as it is, or deny it.",
  recovery:
    'The call had started, and its outcome is unknown. Say how it ended: pawl approve with --rerun, --result "…" or --failed.',
  external: 'The call runs elsewhere. Give its result with --result "…", or use --failed --note "why".',
  tool: 'The tool asks a question. Answer it with --reply "…", as JSON or as text, or deny it.',
};

function createWrongAnswerError({ id, why }: PendingCall, verb: Verb, option: string | undefined): PawlError {
  const answerText = option === undefined ? `A plain ${verb === "deny" ? "no" : "approval"}` : `--${option}`;
  return new PawlError("bad_input", `${answerText} cannot settle call ${id}. ${adviceByReason[why]}`);
}

/** Approves the call with the changed input, or unchanged if the person changed nothing. */
async function createApprovalWithInput(
  { input, id }: PendingCall,
  options: AnswerCommandOptions,
): Promise<ApprovalDecision> {
  const text = options.input ?? (await editInput(input));
  try {
    const changed = JSON.parse(text) as Json;
    const isSame = JSON.stringify(changed) === JSON.stringify(input);
    return isSame ? answers.allow.decide() : answers.edit.decide(changed);
  } catch (cause) {
    const why = getErrorMessage(cause);
    throw new PawlError("bad_input", `The changed input of ${id} is not valid JSON (${why}). No answer was sent.`, {
      cause,
    });
  }
}

async function editInput(input: Json): Promise<string> {
  const editor = findEditor(process.env);
  if (editor === undefined)
    throw new PawlError("bad_configuration", "No editor is set. Set EDITOR, or give the input with --input '{…}'.");
  const text = await editText(editor, JSON.stringify(input, null, 2));
  if (text === null) throw new PawlError("bad_input", "The editor exited with an error. No answer was sent.");
  return text;
}

type AnsweredCall = { readonly session: ClientSession; readonly callKey: string; readonly id: string };

/** Finds the last matching call that was answered. @throws PawlError `no_such_call`, `no_session` */
async function findAnsweredCall(store: Store, id: string): Promise<AnsweredCall> {
  const { head, step, position } = parseCallId(id);
  const { sessionId } = (await findSession(store, id)) ?? (await getSession(store, head));
  const session = createClient({ store }).session(sessionId);
  const found: string[] = [];
  for await (const callKey of listAnsweredCallKeys(store, sessionId)) {
    const call = parseCallId(callKey);
    if (step === undefined || (call.step === step && call.position === position)) found.push(callKey);
  }
  const callKey = found.at(-1);
  if (callKey === undefined)
    throw new PawlError(
      "no_such_call",
      `No call ${JSON.stringify(id)} waits. "pawl approvals" lists the calls that do.`,
    );
  return { session, callKey, id: formatCallId(shortId(sessionId), callKey) };
}

/** Yields the keys of the calls that were answered or expired, in log order, then those with an answer in the inbox. */
async function* listAnsweredCallKeys(store: Store, sessionId: string): AsyncGenerator<string> {
  for (let after = 0; ; ) {
    const entries = await store.read(sessionId, after, 1_000);
    for (const { seq, event } of entries) {
      after = seq;
      const isAnswer = event.type === "answered" || (event.type === "timer_fired" && event.timer === "approval");
      if (isAnswer && event.callKey !== undefined) yield event.callKey;
    }
    if (entries.length === 0) break;
  }
  for (const { body } of await store.inbox(sessionId)) if (body.type === "answer") yield body.callKey;
}

/** Reports that another answer came first, and which one. */
async function reportEarlierDecision(
  call: AnsweredCall,
  verb: Verb,
  options: AnswerCommandOptions,
  terminal: Terminal,
) {
  const { session, callKey, id } = call;
  const first = terminal.redaction.value(await session.answerTo(callKey, options.question));
  const isSame = first !== null && isSameDecision(await session.answerTo(callKey, options.question), verb, options);
  if (options.json === true) terminal.json({ sessionId: session.id, callKey, status: "second", first });
  else
    terminal.out(
      `Another answer came first, so this one changes nothing: ${sanitize(id)} ${formatFirstDecision(first)}\n`,
    );
  return { sessionId: session.id, isFirst: false, isSame };
}

/** Whether the first answer has the same outcome as this one. A note does not count: it changes no outcome. */
function isSameDecision(first: GivenAnswer | null, verb: Verb, options: AnswerCommandOptions): boolean {
  if (first === null) return false;
  const { input, result, rerun, failed, edit } = options;
  const isDenied = verb === "deny" || failed === true;
  switch (first.type) {
    case "deny":
    case "fail":
    case "decline":
    case "expired":
      return isDenied;
    case "reply":
      return !isDenied && options.reply !== undefined && isSameReply(options.reply, first.value);
    case "result":
      return isDenied ? false : result !== undefined && textOf(first.output) === result;
    case "rerun":
      return !isDenied && rerun === true;
    case "modify":
      return !isDenied && input !== undefined && isSameInput(input, first.input);
    case "approve":
      return !isDenied && [input, result, rerun, edit].every((option) => option === undefined);
  }
}

/** The text matches as plain text or as JSON, because the question's schema has decided how the first reply was read. */
function isSameReply(text: string, value: Json | undefined): boolean {
  return value === text || isSameInput(text, value);
}

function textOf(output: GivenAnswer["output"]): string | undefined {
  return output?.type === "text" ? output.text : undefined;
}

function isSameInput(text: string, input: Json | undefined): boolean {
  const parsed = parseJson(text);
  return parsed.ok && input !== undefined && canonicalJson(parsed.value) === canonicalJson(input);
}

const firstDecisionTexts: { readonly [type in GivenAnswer["type"]]: string } = {
  approve: "was approved",
  modify: "was approved with changes",
  deny: "was denied",
  rerun: "was set to run again",
  result: "got its result",
  fail: "was counted as failed",
  expired: "expired before it was answered",
  reply: "was answered",
  decline: "was declined",
};

function formatFirstDecision(first: GivenAnswer | null): string {
  if (first === null) return "is no longer waiting.";
  const { overruled } = first;
  const person = overruled === undefined ? first.by : overruled.by;
  const by = person === undefined ? "" : ` by ${sanitize(person)}`;
  const note = first.note === undefined ? "" : `: ${sanitize(first.note)}`;
  const denied = overruled === undefined ? "" : `, but ${firstDecisionTexts[first.type]} by the permissions`;
  return `${firstDecisionTexts[overruled?.answer ?? first.type]}${by} ${formatAgo(first.at, Date.now())}${denied}${note}.`;
}

function formatNextStep(next: Continuation, { sessionId }: PendingCall, others: number): string {
  const more =
    others === 0
      ? ""
      : `\n${formatCount(others, "more call")} of this session ${others === 1 ? "waits" : "wait"}: pawl approvals ${sanitize(shortId(sessionId))}`;
  switch (next.by) {
    case "process":
      return `Process ${next.pid} continues the session.${more}`;
    case "program":
      return `The program of the agent "${sanitize(next.agent)}", or its worker, continues the session.${more}`;
    case "pawl":
      return `A window that has the session open, or a running pawl worker, continues it. Otherwise: pawl resume ${sanitize(shortId(next.top))}${more}`;
  }
}
