/**
 * Asks a person about a call: yes, no, edit, or always, by a rule that is kept (CLI-2).
 *
 * The person sees the whole call, with nothing hidden, because exactly this call runs if they approve it (SEC-6).
 */
import type { Agent, ApprovalDecision, Json, PendingApproval } from "../index.js";
import { callTitle } from "./call-title.js";
import { editorOf, editText } from "./editor.js";
import type { Interruptions } from "./interruptions.js";
import type { Permissions } from "./permissions/permissions.js";
import { picksFor } from "./permissions/rule-choices.js";
import { promptLine } from "./prompt-line.js";
import { recoveryAnswers } from "./recovery-answers.js";
import { replyOf } from "./reply.js";
import { discardTypedInput } from "./steering-input.js";
import type { Terminal } from "./terminal.js";
import { cut, exact, visible, wholeInput } from "./text.js";
import { userName } from "./user-name.js";

export type Reply =
  | { readonly type: "yes" }
  | { readonly type: "no"; readonly note?: string }
  | { readonly type: "edit" }
  | { readonly type: "always" };

type Words = { readonly word: string; readonly rest: string };

/** The first word of a line, in lower case, and what follows it. */
function wordsOf(line: string): Words {
  const [, word = "", rest = ""] = /^\s*(\S*?)[,:]?(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
  return { word: word.toLowerCase(), rest };
}

/** Reads a person's answer to an approval. Null if the line is not clear: then the caller asks again. */
export function readReply(line: string): Reply | null {
  const { word, rest } = wordsOf(line);
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
  if (approval.why === "tool") return askForTool(approval, context);
  const isRecovery = approval.why === "recovery";
  const mayEdit = approval.why !== "provider";
  const title = isRecovery
    ? "was interrupted, and how it ended is not known"
    : mayEdit
      ? "wants to run"
      : "wants to run at the model's provider";
  await discardTypedInput(context.interruptions);
  terminal.err(`${style("yellow", "?")} ${style("bold", exact(approval.name))} ${title}:\n`);
  terminal.err(`${wholeInput(approval.input).replace(/^/gm, "    ")}\n`);
  if (approval.question !== undefined) terminal.err(`  ${exact(approval.question)}\n`);
  for (;;) {
    const prompt = isRecovery ? recoveryPrompt : promptOf(approval, mayEdit, terminal.columns());
    const line = await promptLine(prompt, context.interruptions);
    if (line === null) return null;
    const decision = isRecovery ? readRecovery(line) : await decisionOf(readReply(line), approval, context);
    if (decision !== null) return decision;
  }
}

/** Reads the answer to a tool. An answer that does not fit the question is refused later, and the person asked again. */
async function askForTool(
  approval: PendingApproval,
  { terminal, interruptions }: AskContext,
): Promise<ApprovalDecision | null> {
  const { style } = terminal;
  const { name, question = "", url, schema } = approval;
  await discardTypedInput(interruptions);
  terminal.err(`${style("yellow", "?")} ${style("bold", exact(name))} asks: ${exact(question)}\n`);
  if (url !== undefined) terminal.err(`  ${exact(url)}\n`);
  if (schema !== undefined) terminal.err(style("dim", `${wholeInput(schema).replace(/^/gm, "    ")}\n`));
  const line = await promptLine("  Your answer, as JSON or as text; nothing to decline > ", interruptions);
  if (line === null) return null;
  return line.trim() === "" ? { type: "decline" } : { type: "reply", value: replyOf(line, schema) };
}

/** Characters of the call in the prompt. */
const maxTitle = 40;
const minTitle = 10;
/** Columns that are left for the answer. */
const answerColumns = 4;

/** The call is cut so that the prompt fits on one line: a terminal breaks words. */
function promptOf({ name, input }: PendingApproval, isOwn: boolean, columns: number): string {
  const keys = `? [y]es  [n]o (reason)  ${isOwn ? "[e]dit  [a]lways… " : ""}> `;
  const room = columns - "  Allow ".length - keys.length - answerColumns;
  const title = cut(callTitle(name, input, maxTitle), Math.max(minTitle, Math.min(maxTitle, room)));
  return `  Allow ${title}${keys}`;
}

/** Offers the narrowest rules that allow such calls, and keeps the one that is picked. @returns whether one was */
async function keepOffered(approval: PendingApproval, context: AskContext): Promise<boolean> {
  const { terminal, agent, sessionId, permissions, interruptions } = context;
  const session = agent.session(sessionId);
  const { choices, notes } = await picksFor(approval, { permissions, session, by: userName() });
  for (const [at, { says }] of choices.entries()) terminal.err(`    ${at + 1} ${visible(says)}\n`);
  for (const note of notes) terminal.err(`    ${visible(note)}\n`);
  if (choices.length === 0) return false;
  const line = await promptLine("  Allow this without asking, by its number; nothing to go back > ", interruptions);
  const chosen = /^\s*\d+\s*$/.test(line ?? "") ? choices[Number(line) - 1] : undefined;
  if (chosen === undefined) return false;
  await chosen.keep();
  return true;
}

const recoveryPrompt = "  How did it end? [d]one (result)  [f]ailed (reason)  run it [a]gain > ";

/** Reads a person's answer to a call that was interrupted. Null if the line is not clear. */
export function readRecovery(line: string): ApprovalDecision | null {
  const { word, rest } = wordsOf(line);
  const answer = recoveryAnswers.find((one) => one.key === word || one.word === word);
  if (answer === undefined || (answer.key === "a" && rest !== "")) return null;
  return answer.decisionOf(rest);
}

async function decisionOf(
  reply: Reply | null,
  approval: PendingApproval,
  context: AskContext,
): Promise<ApprovalDecision | null> {
  switch (reply?.type) {
    case "yes":
      return { type: "approve" };
    case "always":
      if (approval.why === "provider") return null;
      return (await keepOffered(approval, context)) ? { type: "approve" } : null;
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
  const editor = editorOf(process.env);
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
