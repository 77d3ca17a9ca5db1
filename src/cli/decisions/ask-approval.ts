/**
 * Asks a person about a call: yes, no, edit, or always, by a rule that is kept (CLI-2).
 *
 * The person sees the whole call, with nothing hidden, because exactly this call runs if they approve it (SEC-6).
 */
import type { Agent, ApprovalDecision, Json, PendingApproval } from "../../index.js";
import { isOutsideCall, wantsOutside } from "../permissions/decide-sandbox.js";
import type { Permissions } from "../permissions/permissions.js";
import { createRuleChoices } from "../permissions/rule-choices.js";
import { formatCallTitle } from "../render/format-call.js";
import { discardTypedInput } from "../run/steering-input.js";
import { editText, findEditor } from "../terminal/editor.js";
import type { Interruptions } from "../terminal/interruptions.js";
import { promptLine } from "../terminal/prompt-line.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatInput, sanitize, sanitizeStrictly, truncate } from "../terminal/text.js";
import { parseToolReply } from "./parse-reply.js";
import { recoveryChoices } from "./recovery-choices.js";
import { formatReplyChoices, haveNumbers, listReplyChoices } from "./reply-choices.js";
import { resolveUserName } from "./user-name.js";

export type ApprovalReply =
  | { readonly type: "yes" }
  | { readonly type: "no"; readonly note?: string }
  | { readonly type: "edit" }
  | { readonly type: "always" };

type SplitLine = { readonly word: string; readonly rest: string };

/** The first word of a line, in lower case, and what follows it. */
function splitFirstWord(line: string): SplitLine {
  const [, word = "", rest = ""] = /^\s*(\S*?)[,:]?(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
  return { word: word.toLowerCase(), rest };
}

/** Reads a person's answer to an approval. Null if the line is not clear: then the caller asks again. */
export function parseReply(line: string): ApprovalReply | null {
  const { word, rest } = splitFirstWord(line);
  switch (word) {
    case "y":
    case "yes":
      return rest === "" ? { type: "yes" } : null;
    case "n":
    case "no":
      return rest === "" ? { type: "no" } : { type: "no", note: rest };
    case "e":
    case "edit":
      return rest === "" ? { type: "edit" } : null;
    case "a":
    case "always":
      return rest === "" ? { type: "always" } : null;
    default:
      return null;
  }
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
  const isRecovery = approval.why === "recovery";
  const canEdit = approval.why !== "provider";
  const title = isRecovery
    ? "was interrupted, and how it ended is not known"
    : canEdit
      ? isOutsideCall(approval)
        ? wantsOutside
        : "wants to run"
      : "wants to run at the model's provider";
  await discardTypedInput(context.interruptions);
  terminal.err(`${style("yellow", "?")} ${style("bold", sanitizeStrictly(approval.name))} ${title}:\n`);
  terminal.err(`${formatInput(approval.input).replace(/^/gm, "    ")}\n`);
  if (approval.question !== undefined) terminal.err(`  ${sanitizeStrictly(approval.question)}\n`);
  for (;;) {
    const prompt = isRecovery ? recoveryPrompt : formatPrompt(approval, canEdit, terminal.columns());
    const line = await promptLine(prompt, context.interruptions);
    if (line === null) return null;
    const reply = isRecovery ? null : parseReply(line);
    const decision = isRecovery ? parseRecovery(line) : await toDecision(reply, approval, context);
    if (decision !== null) return decision;
    // An edit that was left, and "always" without a rule, are understood and lead back to the question.
    if (reply === null)
      terminal.err(`  Not understood. ${isRecovery ? "Type d, f or a" : formatReplyHint(canEdit)}.\n`);
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
  // A text of several lines may have numbers of its own, as a plan has.
  if (choices.length > 0 && question.includes("\n")) terminal.err("\n");
  for (const choice of choices) terminal.err(`${choice}\n`);
  if (schema !== undefined && choices.length === 0)
    terminal.err(style("dim", `${formatInput(schema).replace(/^/gm, "    ")}\n`));
  const line = await promptLine(`  Your answer, ${describeForm(schema)}; nothing to decline > `, interruptions);
  if (line === null) return null;
  return line.trim() === "" ? { type: "decline" } : { type: "reply", value: parseToolReply(line, schema) };
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

function formatReplyHint(canEdit: boolean): string {
  return `Type y, n${canEdit ? ", e or a" : ""}; n may have a reason: n, because …`;
}

/** Characters of the call in the prompt. */
const maxTitleColumns = 40;
const minTitleColumns = 10;
/** Columns that are left for the answer. */
const answerColumns = 4;

/** The call is cut so that the prompt fits on one line: a terminal breaks words. */
function formatPrompt({ name, input }: PendingApproval, canEdit: boolean, columns: number): string {
  const keys = `? [y]es  [n]o (reason)  ${canEdit ? "[e]dit  [a]lways… " : ""}> `;
  const room = columns - "  Allow ".length - keys.length - answerColumns;
  const title = truncate(
    formatCallTitle(name, input, maxTitleColumns),
    Math.max(minTitleColumns, Math.min(maxTitleColumns, room)),
  );
  return `  Allow ${title}${keys}`;
}

/** Offers the narrowest rules that allow such calls, and keeps the one that is picked. @returns whether one was */
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

const recoveryPrompt = "  How did it end? [d]one (result)  [f]ailed (reason)  run it [a]gain > ";

/** Reads a person's answer to a call that was interrupted. Null if the line is not clear. */
export function parseRecovery(line: string): ApprovalDecision | null {
  const { word, rest } = splitFirstWord(line);
  const answer = recoveryChoices.find((one) => one.key === word || one.word === word);
  if (answer === undefined || (answer.key === "a" && rest !== "")) return null;
  return answer.toDecision(rest);
}

async function toDecision(
  reply: ApprovalReply | null,
  approval: PendingApproval,
  context: AskContext,
): Promise<ApprovalDecision | null> {
  switch (reply?.type) {
    case "yes":
      return { type: "approve" };
    case "always":
      if (approval.why === "provider") return null;
      return (await offerRules(approval, context)) ? { type: "approve" } : null;
    case "no":
      return { type: "deny", ...(reply.note === undefined ? {} : { note: reply.note }) };
    case "edit": {
      if (approval.why === "provider") return null;
      const input = await editInput(approval.input, context);
      return input === null ? null : { type: "modify", input };
    }
    default:
      return null;
  }
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
    terminal.err(`  This is not valid JSON: ${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}
