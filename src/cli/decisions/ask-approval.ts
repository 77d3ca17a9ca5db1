/**
 * Asks a person about a call: yes, no, edit, or always, which stores a rule (CLI-2).
 *
 * The person sees the whole call, with nothing hidden, because exactly this call runs if they approve it (SEC-6).
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import type { Agent, ApprovalDecision, Json, PendingApproval } from "../../index.js";
import { type AnswerChoice, answers, listAnswerChoices } from "../../view/question-choices.js";
import type { Permissions } from "../permissions/permissions.js";
import { createRuleChoices } from "../permissions/rule-choices.js";
import { formatCallTitle } from "../render/format-call.js";
import { discardTypedInput } from "../run/steering-input.js";
import { editText, findEditor } from "../terminal/editor.js";
import type { Interruptions } from "../terminal/interruptions.js";
import { promptLine } from "../terminal/prompt-line.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatInput, joinWords, sanitize, sanitizeStrictly, truncate } from "../terminal/text.js";
import { formatQuestionTitle } from "./question-title.js";
import { formatReplyChoices, haveNumbers, listReplyChoices, parseToolReply } from "./reply-choices.js";
import { resolveUserName } from "./user-name.js";

/** Only the terminal offers "always": it stores a rule that allows the call. */
const always = { name: "always", key: "a", word: "always", prompt: "[a]lways…", takes: "nothing" } as const;

type LineChoice = AnswerChoice | typeof always;

/** The answers that a person can type. */
function listLineChoices({ why }: Pick<PendingApproval, "why">): readonly LineChoice[] {
  return [...listAnswerChoices(why), ...(why === "policy" ? [always] : [])];
}

/** Parses a person's answer: its key or its word, and optional text. Null if the line is not clear: then the caller asks again. */
export function parseReply(
  line: string,
  approval: Pick<PendingApproval, "why">,
): { readonly choice: LineChoice; readonly text: string } | null {
  const [, first = "", text = ""] = /^\s*(\S*?)[,:]?(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
  const typed = first.toLowerCase();
  const choice = listLineChoices(approval).find(({ key, word }) => key === typed || word === typed);
  return choice !== undefined && takesText(choice, text) ? { choice, text } : null;
}

function takesText({ name, takes }: LineChoice, text: string): boolean {
  if (takes === "text") return true;
  return takes === "value" && name !== "edit" ? text !== "" : text === "";
}

export type AskContext = {
  readonly agent: Agent;
  readonly sessionId: string;
  readonly terminal: Terminal;
  readonly permissions: Permissions;
  readonly interruptions: Interruptions;
};

/** @returns the person's decision; null if they leave without one */
export async function askApproval(approval: PendingApproval, context: AskContext): Promise<ApprovalDecision | null> {
  const { terminal } = context;
  const { style } = terminal;
  if (approval.why === "tool") return askToolQuestion(approval, context);
  await discardTypedInput(context.interruptions);
  const title = formatQuestionTitle(approval);
  terminal.err(`${style("yellow", "?")} ${style("bold", sanitizeStrictly(approval.name))} ${title}:\n`);
  terminal.err(`${formatInput(approval.input).replace(/^/gm, "    ")}\n`);
  if (approval.question !== undefined) terminal.err(`  ${sanitizeStrictly(approval.question)}\n`);
  for (;;) {
    const line = await promptLine(formatPrompt(approval, terminal.columns()), context.interruptions);
    if (line === null) return null;
    const reply = parseReply(line, approval);
    if (reply === null) terminal.err(`  Not understood. ${formatReplyHint(approval)}.\n`);
    // A cancelled edit, and "always" without a rule, are valid and lead back to the question.
    const decision = reply === null ? null : await toDecision(reply.choice, reply.text, approval, context);
    if (decision !== null) return decision;
  }
}

/** Reads the answer to a tool. An answer that does not fit the question is refused later, and the person asked again. */
async function askToolQuestion(
  approval: PendingApproval,
  { terminal, interruptions }: AskContext,
): Promise<ApprovalDecision | null> {
  const { style } = terminal;
  const { name, question = "", url, schema } = approval;
  await discardTypedInput(interruptions);
  terminal.err(`${style("yellow", "?")} ${style("bold", sanitizeStrictly(name))} asks:${formatQuestion(question)}\n`);
  if (url !== undefined) terminal.err(`  ${sanitizeStrictly(url)}\n`);
  const choices = formatReplyChoices(schema);
  // A question of several lines may contain numbers, as a plan does.
  if (choices.length > 0 && question.includes("\n")) terminal.err("\n");
  for (const choice of choices) terminal.err(`${choice}\n`);
  if (schema !== undefined && choices.length === 0)
    terminal.err(style("dim", `${formatInput(schema).replace(/^/gm, "    ")}\n`));
  const line = await promptLine(`  Your answer, ${describeForm(schema)}; nothing to decline > `, interruptions);
  if (line === null) return null;
  return line.trim() === "" ? answers.decline.decide("") : answers.reply.decide(parseToolReply(line, schema));
}

function describeForm(schema: PendingApproval["schema"]): string {
  const choices = listReplyChoices(schema);
  if (choices.length > 0) return haveNumbers(choices) ? "by its number" : "one of these";
  return schema?.type === "string" ? "as text" : "as JSON or as text";
}

/** The tool writes the question, so its further lines are indented: they must not look like lines of Pawl. */
function formatQuestion(question: string): string {
  const text = sanitizeStrictly(question);
  return text.includes("\n") ? `\n${text.replace(/^/gm, "    ")}` : ` ${text}`;
}

function formatReplyHint(approval: PendingApproval): string {
  const keys = listLineChoices(approval).map(({ key }) => key);
  const hint = `Type ${joinWords(keys, "or")}`;
  return keys.includes("n") ? `${hint}; n may have a reason: n, because …` : hint;
}

/** The columns of the call in the prompt. */
const maxTitleColumns = 40;
const minTitleColumns = 10;
/** Columns that are left for the answer. */
const answerColumns = 4;

/** The call is cut so that the prompt fits on one line: a terminal breaks words. */
function formatPrompt(approval: PendingApproval, columns: number): string {
  const keys = `${listLineChoices(approval)
    .map(({ prompt }) => prompt)
    .join("  ")} > `;
  if (approval.why === "recovery") return `  How did it end? ${keys}`;
  if (approval.why === "external") return `  What is its result? ${keys}`;
  const room = columns - "  Allow ? ".length - keys.length - answerColumns;
  const title = truncate(
    formatCallTitle(approval.name, approval.input, maxTitleColumns),
    Math.max(minTitleColumns, Math.min(maxTitleColumns, room)),
  );
  return `  Allow ${title}? ${keys}`;
}

/** Offers the narrowest rules that allow such calls, and stores the chosen rule. @returns whether one was chosen */
async function offerRules(approval: PendingApproval, context: AskContext): Promise<boolean> {
  const { terminal, agent, sessionId, permissions, interruptions } = context;
  const session = agent.session(sessionId);
  const { choices, notes } = await createRuleChoices(approval, { permissions, session, by: resolveUserName() });
  for (const [at, { label }] of choices.entries()) terminal.err(`    ${at + 1} ${sanitize(label)}\n`);
  for (const note of notes) terminal.err(`    ${sanitize(note)}\n`);
  if (choices.length === 0) return false;
  const line = await promptLine("  Allow this without asking, by its number; nothing to go back > ", interruptions);
  const chosen = /^\s*\d+\s*$/.test(line ?? "") ? choices[Number(line) - 1] : undefined;
  if (chosen === undefined) return false;
  await chosen.keep();
  return true;
}

async function toDecision(
  choice: LineChoice,
  text: string,
  approval: PendingApproval,
  context: AskContext,
): Promise<ApprovalDecision | null> {
  if (choice.name === "always") return (await offerRules(approval, context)) ? answers.allow.decide() : null;
  if (choice.name === "edit") {
    const input = await editInput(approval.input, context);
    return input === null ? null : choice.decide(input);
  }
  return choice.takes === "nothing" ? choice.decide() : choice.decide(text);
}

/** @returns the changed input; null if the person cancels, or if the text is not valid JSON */
async function editInput(input: Json, { terminal, interruptions }: AskContext): Promise<Json | null> {
  const editor = findEditor(process.env);
  const text =
    editor === undefined
      ? await promptLine("  Input > ", interruptions, { initialText: JSON.stringify(input) })
      : await editText(editor, JSON.stringify(input, null, 2));
  if (text === null) return null;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    terminal.err(`  This is not valid JSON: ${getErrorMessage(error)}\n`);
    return null;
  }
}
