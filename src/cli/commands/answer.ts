/**
 * `pawl approve` and `pawl deny`: answers a call that waits, whichever process and agent it belongs to.
 *
 * 1. What is answered is shown, whole, and the answer counts for this input only (SEC-6).
 * 2. The answer is posted: it runs nothing here, unless the person asks to carry on.
 */
import {
  type ApprovalDecision,
  type ClientSession,
  createClient,
  type GivenAnswer,
  isHolderDead,
  type Json,
  PawlError,
  type Store,
} from "../../index.js";
import type { WorkOptions } from "../drive-session.js";
import { editorOf, inEditor } from "../editor.js";
import { exitCodes } from "../exit.js";
import { agentName } from "../folder-agent.js";
import { findSession, getSession, homeOf, openStore, shortId } from "../home.js";
import { agoOf, callId, describe, listPending, matching, type PendingCall, splitId, theOne } from "../pending-calls.js";
import type { Terminal } from "../terminal.js";
import { exact, visible } from "../text.js";
import { whoDecides } from "../user-name.js";
import { resume } from "./resume.js";

export type AnswerCommandOptions = WorkOptions & {
  readonly edit?: true;
  readonly input?: string;
  readonly rerun?: true;
  readonly result?: string;
  readonly failed?: true;
  readonly note?: string;
  readonly hash?: string;
  readonly by?: string;
  readonly resume?: true;
};

type Verb = "approve" | "deny";

export async function answer(verb: Verb, id: string, options: AnswerCommandOptions, terminal: Terminal) {
  const store = await openStore(homeOf(process.env));
  const answered = await answerIn(store, verb, id, options, terminal).finally(() => store.close());
  if (!answered.isFirst) return answered.isSame ? exitCodes.done : exitCodes.usage;
  return options.resume === true ? resume(answered.sessionId, options, terminal) : exitCodes.done;
}

type Answered = { readonly sessionId: string; readonly isFirst: boolean; readonly isSame: boolean };

async function answerIn(
  store: Store,
  verb: Verb,
  id: string,
  options: AnswerCommandOptions,
  terminal: Terminal,
): Promise<Answered> {
  const all = await listPending(store, terminal.redaction);
  const pending = theOne(matching(all, id), id, terminal.paint);
  if (pending === undefined) return tellSecond(await earlierCall(store, id), verb, options, terminal);
  terminal.err(describe(pending, Date.now(), terminal.paint));
  checkHash(pending, options.hash);
  const session = createClient({ store }).session(pending.sessionId);
  const decision = decisionOf(verb, pending, options);
  const said = await say(session, pending, decision, whoDecides(options.by));
  const call = { session, callKey: pending.callKey, id: pending.id };
  if (said === "second") return tellSecond(call, verb, options, terminal);
  const { sessionId, callKey, name, session: info } = pending;
  const others = all.filter((one) => one.sessionId === sessionId).length - 1;
  const what = { sessionId, callKey, answer: decision.type, status: "first" };
  if (options.json === true) terminal.json(what);
  else {
    terminal.out(`${told[decision.type]} ${visible(pending.id)} (${exact(name)}).\n`);
    if (options.resume !== true) terminal.err(`${await nextOf(store, pending, info.agent, others)}\n`);
  }
  return { sessionId, isFirst: true, isSame: true };
}

const told: { readonly [type in ApprovalDecision["type"]]: string } = {
  approve: "Approved",
  modify: "Approved with changes:",
  deny: "Denied",
  rerun: "To be run again:",
  result: "Result given for",
  fail: "Counted as failed:",
  abort: "Aborted",
};

/** An answer to what was listed before counts for that input only. */
function checkHash({ inputHash = "", id }: PendingCall, hash: string | undefined): void {
  if (hash === undefined) return;
  if (!/^[0-9a-f]{8,64}$/.test(hash))
    throw new PawlError(
      "bad_input",
      "--hash takes 8 characters or more of the inputHash that pawl approvals --json shows.",
    );
  if (!inputHash.startsWith(hash))
    throw new PawlError(
      "bad_input",
      `The input of ${id} is not the one of that hash: it has changed. Look at it again.`,
    );
}

function say(session: ClientSession, { callKey, why, inputHash }: PendingCall, decision: ApprovalDecision, by: string) {
  // What runs elsewhere is not approved: somebody gives its result.
  if (why === "external" && decision.type === "result")
    return session.provideResult(callKey, decision.output, { isError: decision.isError === true });
  return session.answer(callKey, decision, { by, ...(inputHash === undefined ? {} : { inputHash }) });
}

/** @throws PawlError `bad_input` where the options do not answer what is asked */
function decisionOf(verb: Verb, pending: PendingCall, options: AnswerCommandOptions): ApprovalDecision {
  const { note } = options;
  const given = ["edit", "input", "rerun", "result", "failed"].filter((name) => name in options);
  if (given.length > 1)
    throw new PawlError("bad_input", `Only one of ${given.map((one) => `--${one}`).join(", ")} can be said.`);
  const [way] = given;
  const noted = note === undefined ? {} : { note };
  const isDenied = verb === "deny" || way === "failed";
  switch (pending.why) {
    case "policy":
      if (verb === "deny") return { type: "deny", ...noted };
      if (way === undefined) return { type: "approve" };
      if (way === "edit" || way === "input") return changed(pending, options);
      throw notAnswering(pending, way, "Approve it, change its input (--edit, --input), or deny it.");
    case "recovery":
      if (isDenied) return { type: "fail", ...noted };
      if (way === "rerun") return { type: "rerun" };
      if (way === "result") return { type: "result", output: options.result };
      throw notAnswering(
        pending,
        way,
        'It had started and its outcome is unknown: say --rerun, --result "…" or --failed.',
      );
    case "external":
      if (isDenied) return { type: "result", output: note ?? "It was declined.", isError: true };
      if (way === "result") return { type: "result", output: options.result };
      throw notAnswering(
        pending,
        way,
        'It runs elsewhere: give its result with --result "…", or --failed --note "why".',
      );
  }
}

function notAnswering({ id }: PendingCall, way: string | undefined, what: string): PawlError {
  const said = way === undefined ? "That" : `--${way}`;
  return new PawlError("bad_input", `${said} does not answer what ${id} asks. ${what}`);
}

/** The input that the person made; an approval as it is where nothing was changed. */
function changed({ input, id }: PendingCall, options: AnswerCommandOptions): ApprovalDecision {
  const text = options.input ?? edited(input);
  try {
    const made = JSON.parse(text) as Json;
    return JSON.stringify(made) === JSON.stringify(input) ? { type: "approve" } : { type: "modify", input: made };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PawlError("bad_input", `The changed input of ${id} is no JSON (${why}). Nothing was answered.`, {
      cause,
    });
  }
}

function edited(input: Json): string {
  const editor = editorOf(process.env);
  if (editor === undefined)
    throw new PawlError("bad_configuration", "There is no editor: set EDITOR, or give the input with --input '{…}'.");
  const text = inEditor(editor, JSON.stringify(input, null, 2));
  if (text === null) throw new PawlError("bad_input", "The editor ended with an error. Nothing was answered.");
  return text;
}

type EarlierCall = { readonly session: ClientSession; readonly callKey: string; readonly id: string };

/** A call that waits no more. @throws PawlError `no_such_call`, `no_session` */
async function earlierCall(store: Store, id: string): Promise<EarlierCall> {
  const { head, step, position } = splitId(id);
  const { sessionId } = (await findSession(store, id)) ?? (await getSession(store, head));
  const session = createClient({ store }).session(sessionId);
  const asked: string[] = [];
  for await (const callKey of askedCalls(store, sessionId)) {
    const call = splitId(callKey);
    if (step === undefined || (call.step === step && call.position === position)) asked.push(callKey);
  }
  const callKey = asked.at(-1);
  if (callKey === undefined)
    throw new PawlError("no_such_call", `Nothing waits under ${JSON.stringify(id)}. "pawl approvals" lists what does.`);
  return { session, callKey, id: callId(shortId(sessionId), callKey) };
}

/** The calls that were asked about, as their answers came. */
async function* askedCalls(store: Store, sessionId: string): AsyncGenerator<string> {
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

/** The first answer counts: the second is told whose that was. */
async function tellSecond(call: EarlierCall, verb: Verb, options: AnswerCommandOptions, terminal: Terminal) {
  const { session, callKey, id } = call;
  const first = terminal.redaction.value(await session.answerTo(callKey));
  const isSame = first !== null && (approvals.has(first.type) ? "approve" : "deny") === verb;
  if (options.json === true) terminal.json({ sessionId: session.id, callKey, status: "second", first });
  else terminal.out(`This answer came second, and changes nothing: ${visible(id)} ${sentenceOf(first)}\n`);
  return { sessionId: session.id, isFirst: false, isSame };
}

const approvals: ReadonlySet<GivenAnswer["type"]> = new Set(["approve", "modify", "rerun", "result"]);

const firsts: { readonly [type in GivenAnswer["type"]]: string } = {
  approve: "was approved",
  modify: "was approved with changes",
  deny: "was denied",
  rerun: "was to be run again",
  result: "was given its result",
  fail: "was counted as failed",
  expired: "expired before anybody answered",
};

function sentenceOf(first: GivenAnswer | null): string {
  if (first === null) return "waits no more.";
  const by = first.by === undefined ? "" : ` by ${visible(first.by)}`;
  const note = first.note === undefined ? "" : `: ${visible(first.note)}`;
  return `${firsts[first.type]}${by} ${agoOf(first.at, Date.now())}${note}.`;
}

/** Who carries it on. */
async function nextOf(store: Store, { sessionId }: PendingCall, agent: string, others: number): Promise<string> {
  const holder = (await findSession(store, sessionId))?.holder ?? null;
  const more =
    others === 0
      ? ""
      : ` ${others} more of its calls ${others === 1 ? "waits" : "wait"}: pawl approvals ${shortId(sessionId)}`;
  if (holder !== null && !isHolderDead(holder)) return `Process ${holder.pid} carries it on.${more}`;
  if (agent !== agentName)
    return `The program of the agent "${visible(agent)}" carries it on, or a worker of it.${more}`;
  return `A worker carries it on (pawl worker), or: pawl resume ${visible(shortId(sessionId))}${more === "" ? "" : `\n${more.trim()}`}`;
}
