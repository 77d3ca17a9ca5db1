/**
 * Asks a person about a call: yes, no, edit, or always for this tool in this run (CLI-2).
 *
 * The person sees the whole call, with nothing hidden, because exactly this call runs if they approve it (SEC-6).
 */
import type { ApprovalDecision, Json, PendingApproval } from "../index.js";
import { editorOf, editText } from "./editor.js";
import type { Interruptions } from "./interruptions.js";
import type { Permissions } from "./permissions.js";
import { promptLine } from "./prompt-line.js";
import { replyOf } from "./reply.js";
import { discardTypedInput } from "./steering-input.js";
import type { Terminal } from "./terminal.js";
import { exact, wholeInput } from "./text.js";

export type Reply =
  | { readonly type: "yes" }
  | { readonly type: "no"; readonly note?: string }
  | { readonly type: "edit" }
  | { readonly type: "always" };

/** Reads a person's answer. Null if the line is not clear: then the caller asks again. */
export function readReply(line: string): Reply | null {
  const [, word = "", rest = ""] = /^\s*(\S*?)[,:]?(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
  switch (word.toLowerCase()) {
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
  const title = isRecovery ? "was interrupted" : mayEdit ? "wants to run" : "wants to run at the model's provider";
  await discardTypedInput(context.interruptions);
  terminal.err(`${style("yellow", "?")} ${style("bold", exact(approval.name))} ${title}:\n`);
  terminal.err(`${wholeInput(approval.input).replace(/^/gm, "    ")}\n`);
  if (approval.question !== undefined) terminal.err(`  ${exact(approval.question)}\n`);
  for (;;) {
    const line = await promptLine(
      isRecovery ? recoveryPrompt : promptOf(approval.name, mayEdit),
      context.interruptions,
    );
    if (line === null) return null;
    const reply = readReply(line);
    const decision = isRecovery ? recoveryDecisionOf(reply) : await decisionOf(reply, approval, context);
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

function promptOf(name: string, mayEdit: boolean): string {
  return `  Allow it? [y]es  [n]o (reason)  ${mayEdit ? "[e]dit  " : ""}[a]lways ${exact(name)} in this run > `;
}

const recoveryPrompt = "  Run it again? [y]es  [n]o (count it as failed) > ";

function recoveryDecisionOf(reply: Reply | null): ApprovalDecision | null {
  if (reply?.type === "yes") return { type: "rerun" };
  if (reply?.type === "no") return { type: "fail", ...(reply.note === undefined ? {} : { note: reply.note }) };
  return null;
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
      context.permissions.allow(approval.name);
      return { type: "approve" };
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
      : editText(editor, JSON.stringify(input, null, 2));
  if (text === null) return null;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    terminal.err(`  This is not valid JSON: ${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}
