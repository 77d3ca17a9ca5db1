/**
 * Asking a person about a call: yes, no, edit, or always for this tool in this run (CLI-2).
 *
 * The whole call is shown, and nothing in it is hidden: what is approved is what runs (SEC-6).
 */
import type { ApprovalDecision, Json, PendingApproval } from "../index.js";
import { editorOf, inEditor } from "./editor.js";
import type { Interruptions } from "./interruptions.js";
import type { Permissions } from "./permissions.js";
import { question } from "./prompt-line.js";
import { dropTyped } from "./steering-input.js";
import type { Terminal } from "./terminal.js";
import { exact, wholeInput } from "./text.js";

export type Reply =
  | { readonly type: "yes" }
  | { readonly type: "no"; readonly note?: string }
  | { readonly type: "edit" }
  | { readonly type: "always" };

/** What a person means by a line; null where that is not clear, and has to be asked again. */
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

export type Asker = {
  readonly terminal: Terminal;
  readonly permissions: Permissions;
  readonly interruptions: Interruptions;
};

/** What the person decides; null where they leave instead. */
export async function ask(approval: PendingApproval, asker: Asker): Promise<ApprovalDecision | null> {
  const { terminal } = asker;
  const { paint } = terminal;
  const isRecovery = approval.why === "recovery";
  const title = isRecovery ? "was interrupted" : "wants to run";
  await dropTyped(asker.interruptions);
  terminal.err(`${paint("yellow", "?")} ${paint("bold", exact(approval.name))} ${title}:\n`);
  terminal.err(`${wholeInput(approval.input).replace(/^/gm, "    ")}\n`);
  if (approval.question !== undefined) terminal.err(`  ${exact(approval.question)}\n`);
  for (;;) {
    const line = await question(isRecovery ? recoveryPrompt : promptOf(approval.name), asker.interruptions);
    if (line === null) return null;
    const reply = readReply(line);
    const decision = isRecovery ? recovered(reply) : await decided(reply, approval, asker);
    if (decision !== null) return decision;
  }
}

function promptOf(name: string): string {
  return `  Allow it? [y]es  [n]o (or: no, and why)  [e]dit  [a]lways ${exact(name)} in this run > `;
}

const recoveryPrompt = "  Run it again? [y]es  [n]o, count it as failed > ";

function recovered(reply: Reply | null): ApprovalDecision | null {
  if (reply?.type === "yes") return { type: "rerun" };
  if (reply?.type === "no") return { type: "fail", ...(reply.note === undefined ? {} : { note: reply.note }) };
  return null;
}

async function decided(reply: Reply | null, approval: PendingApproval, asker: Asker): Promise<ApprovalDecision | null> {
  switch (reply?.type) {
    case "yes":
      return { type: "approve" };
    case "always":
      asker.permissions.allow(approval.name);
      return { type: "approve" };
    case "no":
      return { type: "deny", ...(reply.note === undefined ? {} : { note: reply.note }) };
    case "edit": {
      const input = await edited(approval.input, asker);
      return input === null ? null : { type: "modify", input };
    }
    default:
      return null;
  }
}

/** The changed input; null where it was left as it was, or cannot be read. */
async function edited(input: Json, { terminal, interruptions }: Asker): Promise<Json | null> {
  const editor = editorOf(process.env);
  const text =
    editor === undefined
      ? await question("  Input > ", interruptions, { given: JSON.stringify(input) })
      : inEditor(editor, JSON.stringify(input, null, 2));
  if (text === null) return null;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    terminal.err(`  This is no JSON: ${error instanceof Error ? error.message : String(error)}\n`);
    return null;
  }
}
