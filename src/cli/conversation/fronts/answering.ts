/**
 * How keys answer a question: the meaning of each key, and the text that some answers need.
 *
 * 1. Enter never answers a question. It only submits text that the person began with another key.
 * 2. An edited call is shown in full, and the question is asked again.
 */
import { isObject } from "../../../core/data/is-object.js";
import { parseJson } from "../../../core/index.js";
import type { ApprovalDecision, Json } from "../../../index.js";
import { type AnswerChoice, answers, findAnswerChoice, listAnswerChoices } from "../../../view/question-choices.js";
import {
  haveNumbers,
  listReplyChoices,
  maxChoiceKeys,
  parseToolReply,
  type ReplyChoice,
} from "../../decisions/reply-choices.js";
import type { RuleOffer } from "../../permissions/rule-offers.js";
import type { StorageScope } from "../../permissions/save-rule.js";
import { toOneLine } from "../../terminal/text.js";
import type { OpenQuestion } from "../view/questions.js";

export type AnswerState =
  | { readonly mode: "choose"; readonly edited?: Json }
  /** The person writes the reason for a denial, or why no answer of a list fits. */
  | { readonly mode: "because"; readonly edited?: Json }
  /** The person writes the answer to a tool, or the result of a call that runs elsewhere. */
  | { readonly mode: "reply" }
  /** The person picks a rule and its scope. */
  | { readonly mode: "always"; readonly offers: readonly RuleOffer[]; readonly picked: number }
  /** The person changes the fields of the input, one after the other. */
  | { readonly mode: "edit"; readonly at: number; readonly input: { readonly [key: string]: Json } };

export const initialAnswerState: AnswerState = { mode: "choose" };

/** The effect of a key or of submitted text. */
export type AnswerResult =
  | { readonly type: "decision"; readonly decision: ApprovalDecision }
  | { readonly type: "go"; readonly to: AnswerState; readonly text: string }
  /** The edited input, to be shown before the question is asked again. */
  | { readonly type: "edited"; readonly input: Json }
  | { readonly type: "why" }
  /** The person wants to see the rules that would allow such calls. */
  | { readonly type: "always" }
  | { readonly type: "keep"; readonly offer: RuleOffer; readonly scope: StorageScope }
  | { readonly type: "problem"; readonly message: string }
  | null;

export type AnswerKey = { readonly key: string; readonly label: string };

/** The keys that answer a question. An edited call has no rule: it is allowed once, as edited. */
export function listAnswerKeys(question: OpenQuestion, answering: AnswerState): readonly AnswerKey[] {
  const isEdited = answering.mode === "choose" && answering.edited !== undefined;
  return [
    ...listAnswerChoices(question.why).flatMap((choice) => toKeys(choice, question)),
    ...(question.why === "policy" && !isEdited ? [{ key: "a", label: "always…" }] : []),
    { key: "?", label: "why it asks" },
  ];
}

function toKeys(choice: AnswerChoice, { input, schema }: OpenQuestion): readonly AnswerKey[] {
  switch (choice.name) {
    case "deny":
      return [choice, { key: "r", label: "no, because…" }];
    case "edit":
      return toFields(input) === null ? [] : [choice];
    case "reply":
      return toReplyKeys(choice, listReplyChoices(schema));
    default:
      return [choice];
  }
}

/** The keys that choose or write the answer to a tool. */
function toReplyKeys(typeKey: AnswerKey, choices: readonly ReplyChoice[]): readonly AnswerKey[] {
  if (choices.length === 0) return [typeKey];
  const reasonKey = { key: "r", label: "none of these, because…" };
  if (!haveNumbers(choices)) return [typeKey, reasonKey];
  return [
    ...choices.slice(0, maxChoiceKeys).map(({ label }, at) => ({ key: String(at + 1), label: toOneLine(label) })),
    ...(choices.length > maxChoiceKeys ? [typeKey] : []),
    reasonKey,
  ];
}

/** The keys that choose the scope of a rule. */
const scopeKeys: readonly (AnswerKey & { readonly scope: StorageScope })[] = [
  { key: "t", label: "this session", scope: "session" },
  { key: "p", label: "this folder", scope: "project" },
  { key: "u", label: "everywhere", scope: "user" },
];

/** The scopes in which the rule can be saved. */
export function listScopes({ canPersist }: RuleOffer): typeof scopeKeys {
  return canPersist ? scopeKeys : scopeKeys.slice(0, 1);
}

function pressRuleKey(
  key: string,
  { offers, picked }: Extract<AnswerState, { readonly mode: "always" }>,
): AnswerResult {
  const offer = offers[picked];
  const scope = offer === undefined ? undefined : listScopes(offer).find((choice) => choice.key === key)?.scope;
  if (offer !== undefined && scope !== undefined) return { type: "keep", offer, scope };
  const offset = pickerMoves[key];
  const other = offset === undefined ? Number(key) - 1 : picked + offset;
  return offers[other] === undefined ? null : { type: "go", to: { mode: "always", offers, picked: other }, text: "" };
}

/** The keys that move to the rule above or below. */
const pickerMoves: { readonly [key: string]: number | undefined } = { up: -1, "ctrl-p": -1, down: 1, "ctrl-n": 1 };

/** @param key the character of a key, or its name */
export function pressAnswer(key: string, answering: AnswerState, question: OpenQuestion): AnswerResult {
  if (answering.mode === "always") return pressRuleKey(key, answering);
  if (answering.mode !== "choose") return null;
  if (!listAnswerKeys(question, answering).some((answerKey) => answerKey.key === key)) return null;
  const { edited } = answering;
  if (key === "?") return { type: "why" };
  if (key === "r")
    return { type: "go", to: { mode: "because", ...(edited === undefined ? {} : { edited }) }, text: "" };
  const choice = findAnswerChoice(question.why, key);
  if (choice === undefined && key === "a") return { type: "always" };
  if (choice === undefined) {
    const listed = listReplyChoices(question.schema)[Number(key) - 1];
    return listed === undefined ? null : { type: "decision", decision: answers.reply.decide(listed.value) };
  }
  if (choice.takes === "text") return { type: "decision", decision: choice.decide("") };
  if (choice.name === "edit") {
    const input = toFields(edited ?? question.input);
    return input === null ? null : { type: "go", to: { mode: "edit", at: 0, input }, text: formatField(input, 0) };
  }
  if (choice.takes === "value") return { type: "go", to: { mode: "reply" }, text: "" };
  return { type: "decision", decision: edited === undefined ? choice.decide() : answers.edit.decide(edited) };
}

/** The effect of text that the person submitted with Enter. */
export function submitAnswer(text: string, answering: AnswerState, question: OpenQuestion): AnswerResult {
  switch (answering.mode) {
    case "choose":
    case "always":
      return null;
    case "because": {
      const choice = question.why === "tool" ? answers.decline : answers.deny;
      return { type: "decision", decision: choice.decide(text) };
    }
    case "reply":
      return { type: "decision", decision: toWrittenAnswer(text, question) };
    case "edit":
      return submitField(text, answering);
  }
}

function toWrittenAnswer(text: string, { why, schema }: OpenQuestion): ApprovalDecision {
  return why === "external" ? answers.result.decide(text) : answers.reply.decide(parseToolReply(text, schema));
}

function submitField(text: string, { at, input }: Extract<AnswerState, { readonly mode: "edit" }>): AnswerResult {
  const [key = "", value] = Object.entries(input)[at] ?? [];
  let changed: Json = text;
  if (typeof value !== "string") {
    const parsed = parseJson(text);
    const example = typeof value === "object" ? "" : `, such as ${value}`;
    if (!parsed.ok) return { type: "problem", message: `${key} must be JSON${example}.` };
    changed = parsed.value;
  }
  const next = { ...input, [key]: changed };
  if (at + 1 >= Object.keys(input).length) return { type: "edited", input: next };
  return { type: "go", to: { mode: "edit", at: at + 1, input: next }, text: formatField(next, at + 1) };
}

/** The prompt for the text that the person is writing. */
export function formatAnswerPrompt(answering: AnswerState): string {
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

function toFields(input: Json): { readonly [key: string]: Json } | null {
  if (!isObject(input)) return null;
  return Object.keys(input).length === 0 ? null : input;
}

/** The current text of the field that the person edits; null if no field is edited. */
export function findFieldText(answering: AnswerState): string | null {
  return answering.mode === "edit" ? formatField(answering.input, answering.at) : null;
}

function formatField(input: { readonly [key: string]: Json }, at: number): string {
  const value = Object.values(input)[at];
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
