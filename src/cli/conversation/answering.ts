/**
 * How a person answers a question by keys: what each key means, and the text that some answers take.
 *
 * 1. No answer has the key Enter. Enter ends only a text that the person has begun with another key.
 * 2. A call that was edited is shown whole, and asked about again.
 */
import { parseJson } from "../../core/index.js";
import type { ApprovalDecision, Json } from "../../index.js";
import type { KeptScope } from "../permissions/keep.js";
import type { Offer } from "../permissions/offers.js";
import { recoveryAnswers } from "../recovery-answers.js";
import { replyOf } from "../reply.js";
import type { OpenQuestion } from "./questions.js";

export type Answering =
  | { readonly mode: "choose"; readonly edited?: Json }
  /** The person writes why not. */
  | { readonly mode: "because"; readonly edited?: Json }
  /** The person writes the answer to a tool. */
  | { readonly mode: "reply" }
  /** The person picks a rule, and where it holds. */
  | { readonly mode: "always"; readonly offers: readonly Offer[]; readonly picked: number }
  /** The person changes the fields of the input, one after the other. */
  | { readonly mode: "edit"; readonly at: number; readonly input: { readonly [key: string]: Json } };

export const choosing: Answering = { mode: "choose" };

/** What a key or a text leads to. */
export type Answered =
  | { readonly type: "decision"; readonly decision: ApprovalDecision }
  | { readonly type: "go"; readonly to: Answering; readonly text: string }
  /** The call as it was edited, to be shown and asked about again. */
  | { readonly type: "edited"; readonly input: Json }
  | { readonly type: "why" }
  /** The person wants to see the rules that would allow such calls. */
  | { readonly type: "always" }
  | { readonly type: "keep"; readonly offer: Offer; readonly scope: KeptScope }
  | { readonly type: "problem"; readonly message: string }
  | null;

export type AnswerKey = { readonly key: string; readonly says: string };

/** The keys that answer a question. */
export function answerKeys(question: OpenQuestion): readonly AnswerKey[] {
  const why = { key: "?", says: "why it asks" };
  const no = [
    { key: "n", says: "no" },
    { key: "r", says: "no, because…" },
  ];
  switch (question.why) {
    case "policy":
      return [
        { key: "y", says: "yes" },
        ...no,
        ...(fieldsOf(question.input) === null ? [] : [{ key: "e", says: "edit" }]),
        ...(question.childId === undefined ? [{ key: "a", says: "always…" }] : []),
        why,
      ];
    case "provider":
      return [{ key: "y", says: "yes" }, ...no, why];
    case "recovery":
      return [...recoveryAnswers, why];
    case "tool":
      return [{ key: "t", says: "type an answer" }, { key: "n", says: "no answer" }, why];
    case "external":
      return [why];
  }
}

/** The keys that say where a rule holds. */
const scopeKeys: readonly (AnswerKey & { readonly scope: KeptScope })[] = [
  { key: "t", says: "this session", scope: "session" },
  { key: "p", says: "this folder", scope: "project" },
  { key: "u", says: "everywhere", scope: "user" },
];

/** The places in which the rule may be kept. */
export function scopesOf({ mayLast }: Offer): typeof scopeKeys {
  return mayLast ? scopeKeys : scopeKeys.slice(0, 1);
}

function pressAlways(key: string, { offers, picked }: Extract<Answering, { readonly mode: "always" }>): Answered {
  const offer = offers[picked];
  const scope = offer === undefined ? undefined : scopesOf(offer).find((one) => one.key === key)?.scope;
  if (offer !== undefined && scope !== undefined) return { type: "keep", offer, scope };
  const step = moves[key];
  const other = step === undefined ? Number(key) - 1 : picked + step;
  return offers[other] === undefined ? null : { type: "go", to: { mode: "always", offers, picked: other }, text: "" };
}

/** Keys that pick the rule above or below. */
const moves: { readonly [key: string]: number | undefined } = { up: -1, "ctrl-p": -1, down: 1, "ctrl-n": 1 };

/** @param key the text of a key, or its name */
export function pressAnswer(key: string, answering: Answering, question: OpenQuestion): Answered {
  if (answering.mode === "always") return pressAlways(key, answering);
  if (answering.mode !== "choose" || !answerKeys(question).some((one) => one.key === key)) return null;
  const { edited } = answering;
  if (key === "?") return { type: "why" };
  if (question.why === "recovery") {
    const answer = recoveryAnswers.find((one) => one.key === key);
    return answer === undefined ? null : { type: "decision", decision: answer.decisionOf("") };
  }
  // What was edited runs once, as it was edited.
  if (key === "a") return edited === undefined ? { type: "always" } : null;
  if (key === "t") return { type: "go", to: { mode: "reply" }, text: "" };
  if (question.why === "tool") return { type: "decision", decision: { type: "decline" } };
  if (key === "n") return { type: "decision", decision: { type: "deny" } };
  if (key === "r")
    return { type: "go", to: { mode: "because", ...(edited === undefined ? {} : { edited }) }, text: "" };
  if (key === "y")
    return {
      type: "decision",
      decision: edited === undefined ? { type: "approve" } : { type: "modify", input: edited },
    };
  const input = fieldsOf(edited ?? question.input);
  return input === null ? null : { type: "go", to: { mode: "edit", at: 0, input }, text: fieldText(input, 0) };
}

/** What the text of a draft means that Enter has ended. */
export function submitAnswer(text: string, answering: Answering, question: OpenQuestion): Answered {
  switch (answering.mode) {
    case "choose":
    case "always":
      return null;
    case "because":
      return {
        type: "decision",
        decision: text.trim() === "" ? { type: "deny" } : { type: "deny", note: text.trim() },
      };
    case "reply":
      return { type: "decision", decision: { type: "reply", value: replyOf(text, question.schema) } };
    case "edit":
      return submitField(text, answering);
  }
}

function submitField(text: string, { at, input }: Extract<Answering, { readonly mode: "edit" }>): Answered {
  const [key = "", value] = Object.entries(input)[at] ?? [];
  let changed: Json = text;
  if (typeof value !== "string") {
    const parsed = parseJson(text);
    if (!parsed.ok) return { type: "problem", message: `${key} is no text: write it as JSON.` };
    changed = parsed.value;
  }
  const next = { ...input, [key]: changed };
  if (at + 1 >= Object.keys(input).length) return { type: "edited", input: next };
  return { type: "go", to: { mode: "edit", at: at + 1, input: next }, text: fieldText(next, at + 1) };
}

/** What the person is writing, for the prompt. */
export function promptOf(answering: Answering): string {
  switch (answering.mode) {
    case "choose":
    case "always":
      return "> ";
    case "because":
      return "because > ";
    case "reply":
      return "answer > ";
    case "edit":
      return `${Object.keys(answering.input)[answering.at] ?? ""} > `;
  }
}

function fieldsOf(input: Json): { readonly [key: string]: Json } | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  return Object.keys(input).length === 0 ? null : (input as { readonly [key: string]: Json });
}

function fieldText(input: { readonly [key: string]: Json }, at: number): string {
  const value = Object.values(input)[at];
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
