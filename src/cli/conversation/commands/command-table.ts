/**
 * The commands of a conversation: their names, their descriptions, and the lookup by name.
 */

import { nearestName } from "../../../core/index.js";
import type { CommandName } from "../../command-names.js";
import { type CustomCommand, expandCommand } from "../../configuration/resolve-commands.js";
import { listServerPrompts, type ServerPrompt } from "../../mcp/list-content.js";
import { runAgentsCommand } from "./agents.js";
import { runApproveCommand } from "./approve.js";
import { runBudgetCommand, runEffortCommand } from "./budget-effort.js";
import type { CommandContext } from "./command-context.js";
import { runCompactCommand } from "./compact.js";
import { runConfigCommand } from "./config.js";
import { runContextCommand } from "./context.js";
import { runCopyCommand } from "./copy.js";
import { runCostCommand } from "./cost.js";
import { runDiffCommand } from "./diff.js";
import { runExportCommand } from "./export.js";
import { runForkCommand } from "./fork.js";
import { renderHelp } from "./help.js";
import { runHooksCommand } from "./hooks.js";
import { renderKeyHelp } from "./key-help.js";
import { runMcpCommand } from "./mcp.js";
import { runModeCommand } from "./mode.js";
import { runModelCommand } from "./model.js";
import { runOutputCommand } from "./output.js";
import { runPermissionsCommand } from "./permissions.js";
import { runPsCommand } from "./ps.js";
import { runRenameCommand } from "./rename.js";
import { runNewCommand, runResumeCommand } from "./resume.js";
import { runSkillsCommand } from "./skills.js";
import { runStatusCommand, runToolsCommand } from "./status.js";
import { runTodoCommand } from "./todo.js";
import { runTraceCommand } from "./trace.js";
import { runTrustCommand } from "./trust.js";
import { runRedoCommand, runUndoCommand } from "./undo.js";

export type Command = {
  readonly name: string;
  /** The arguments, as the help shows them. */
  readonly takes: string;
  readonly about: string;
  /** Whether the command is refused during a run. */
  readonly atRest: boolean;
  readonly run: (context: CommandContext, words: string) => Promise<void>;
};

const mcpCommand: Command & { readonly name: "mcp" } = {
  name: "mcp",
  takes: "[…]",
  about: "MCP servers; also log, restart, accept, read, prompt",
  atRest: false,
  run: runMcpCommand,
};

export const commands: readonly (Command & { readonly name: CommandName })[] = [
  {
    name: "help",
    takes: "[word]",
    about: "these commands, or only those about a word",
    atRest: false,
    run: showHelp,
  },
  {
    name: "keys",
    takes: "",
    about: "the keys",
    atRest: false,
    run: async ({ say, columns }) => say(renderKeyHelp(columns())),
  },
  {
    name: "status",
    takes: "",
    about: "version, session, folder, model, sandbox",
    atRest: false,
    run: runStatusCommand,
  },
  { name: "new", takes: "", about: "begins a new session", atRest: true, run: runNewCommand },
  {
    name: "resume",
    takes: "[id]",
    about: "continues another session, which you can choose",
    atRest: true,
    run: runResumeCommand,
  },
  {
    name: "fork",
    takes: "[n]",
    about: "a new session from before your message n",
    atRest: true,
    run: runForkCommand,
  },
  {
    name: "diff",
    takes: "[n]",
    about: "what file tools changed, or only in the last n runs",
    atRest: false,
    run: runDiffCommand,
  },
  {
    name: "undo",
    takes: "[n]",
    about: "undoes what file tools wrote in n runs, and asks",
    atRest: true,
    run: runUndoCommand,
  },
  { name: "redo", takes: "", about: "restores what /undo has undone", atRest: true, run: runRedoCommand },
  {
    name: "model",
    takes: "[name]",
    about: "shows the model, or changes it for later messages",
    atRest: true,
    run: runModelCommand,
  },
  {
    name: "effort",
    takes: "[level]",
    about: "how much the model thinks, for later messages",
    atRest: true,
    run: runEffortCommand,
  },
  {
    name: "compact",
    takes: "[what to keep]",
    about: "summarizes the conversation, to make room",
    atRest: false,
    run: runCompactCommand,
  },
  {
    name: "cost",
    takes: "",
    about: "tokens and cost of the last run and the session",
    atRest: false,
    run: runCostCommand,
  },
  {
    name: "budget",
    takes: "[$2]",
    about: "the maximum cost of a run; off removes the limit",
    atRest: false,
    run: runBudgetCommand,
  },
  {
    name: "context",
    takes: "",
    about: "what the last request consisted of, in tokens",
    atRest: false,
    run: runContextCommand,
  },
  {
    name: "tools",
    takes: "",
    about: "the tools of the model, and why some are off",
    atRest: false,
    run: runToolsCommand,
  },
  mcpCommand,
  { name: "skills", takes: "", about: "the skills that the model can use", atRest: false, run: runSkillsCommand },
  {
    name: "agents",
    takes: "[stop id]",
    about: "other sessions here; agents that the model can call",
    atRest: false,
    run: runAgentsCommand,
  },
  { name: "hooks", takes: "", about: "the hooks in files, and why some are off", atRest: false, run: runHooksCommand },
  {
    name: "trust",
    takes: "[revoke]",
    about: "what the folder supplies, and whether you trust it",
    atRest: true,
    run: runTrustCommand,
  },
  {
    name: "ps",
    takes: "[n]",
    about: "background processes; the output of one; stop n",
    atRest: false,
    run: runPsCommand,
  },
  { name: "todo", takes: "", about: "the model's plan", atRest: false, run: runTodoCommand },
  {
    name: "output",
    takes: "[n]",
    about: "the output of a call, in your pager; 1 is the last",
    atRest: false,
    run: runOutputCommand,
  },
  {
    name: "copy",
    takes: "[n]",
    about: "copies the last answer, or its nth code block",
    atRest: false,
    run: runCopyCommand,
  },
  { name: "trace", takes: "", about: "where the time of the last run went", atRest: false, run: runTraceCommand },
  {
    name: "approve",
    takes: "[id]",
    about: "the calls that wait for an answer, in all sessions",
    atRest: false,
    run: runApproveCommand,
  },
  {
    name: "mode",
    takes: "[edits|plan]",
    about:
      "edits: files of the folder change without asking; plan: nothing changes until you accept a plan; ask: changes ask",
    atRest: false,
    run: runModeCommand,
  },
  {
    name: "permissions",
    takes: "[…]",
    about: "rules that allow, ask and deny; add, remove, test",
    atRest: false,
    run: runPermissionsCommand,
  },
  {
    name: "config",
    takes: "",
    about: "the settings that apply, and where each comes from",
    atRest: false,
    run: runConfigCommand,
  },
  {
    name: "export",
    takes: "[file]",
    about: "writes the session to a file: .md, .html, .jsonl",
    atRest: false,
    run: runExportCommand,
  },
  {
    name: "rename",
    takes: "[title]",
    about: "shows or changes the title of this session",
    atRest: false,
    run: runRenameCommand,
  },
  {
    name: "quit",
    takes: "",
    about: "leaves, and shows how to continue",
    atRest: false,
    run: async ({ quit }) => quit(),
  },
];

/** How long the help waits for the prompts of MCP servers; milliseconds. */
const maxPromptsWaitMs = 2_000;

async function showHelp({ say, columns, custom, servers }: CommandContext, word: string): Promise<void> {
  const prompts = await listServerPrompts(servers, AbortSignal.timeout(maxPromptsWaitMs));
  say(renderHelp(columns(), { commands, custom: custom.list.map(toCommand), prompts, word }));
}

function listCommands(custom: readonly CustomCommand[]): readonly Command[] {
  return [...commands, ...custom.map(toCommand)];
}

function toCommand(custom: CustomCommand): Command {
  return {
    name: custom.name,
    takes: "[words]",
    about: `${custom.scope === "user" ? "sends your text" : "sends this folder's text"}: ${custom.about}`,
    atRest: false,
    run: async ({ send }, words) => send(expandCommand(custom, words), words),
  };
}

export type CommandMatch =
  | { readonly type: "command"; readonly command: Command; readonly words: string }
  | { readonly type: "unknown"; readonly message: string };

/** What other programs call these commands. */
const namesElsewhere: ReadonlyMap<string, CommandName> = new Map([
  ["usage", "cost"],
  ["stats", "cost"],
  ["clear", "new"],
  ["rewind", "fork"],
  ["tree", "fork"],
  ["exit", "quit"],
  ["settings", "config"],
  ["bashes", "ps"],
  ["plan", "mode"],
]);

/** Finds the command that a line names. A prefix that matches only one command is enough. */
export function findCommand(line: string, custom: readonly CustomCommand[]): CommandMatch {
  const [, name = "", words = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
  const all = listCommands(custom);
  const exact = all.find((command) => command.name === name);
  const [, server, prompt] = /^([^:]+):(.*)$/s.exec(name) ?? [];
  // `/docs:review a b` is short for `/mcp prompt docs review a b`.
  if (exact === undefined && server !== undefined)
    return { type: "command", command: mcpCommand, words: `prompt ${server} ${prompt} ${words}`.trim() };
  const candidates = matchingCommands(name, custom);
  const [only] = candidates;
  const command = exact ?? (candidates.length === 1 ? only : undefined);
  if (command !== undefined) return { type: "command", command, words: words.trim() };
  const near =
    namesElsewhere.get(name.toLowerCase()) ??
    nearestName(
      name,
      all.map((command) => command.name),
    );
  const suggestions =
    candidates.length > 0 ? candidates.map((command) => command.name) : near === undefined ? [] : [near];
  const suggestionNote =
    suggestions.length === 0
      ? "/help lists the commands"
      : `Did you mean ${suggestions.map((suggestion) => `/${suggestion}`).join(" or ")}?`;
  return {
    type: "unknown",
    message: `There is no command /${name}. ${suggestionNote.replace(/([a-z])$/, "$1.")} Nothing was sent.`,
  };
}

/** The commands whose names begin with this prefix. */
export function matchingCommands(beginning: string, custom: readonly CustomCommand[]): readonly Command[] {
  return listCommands(custom).filter(({ name }) => name.startsWith(beginning.toLowerCase()));
}

/** The prompts of MCP servers whose names begin with this prefix. */
export function matchingPrompts(beginning: string, prompts: readonly ServerPrompt[]): readonly ServerPrompt[] {
  return prompts.filter(({ name }) => name.toLowerCase().startsWith(beginning.toLowerCase()));
}

/** The draft after Tab: the longest common prefix of the matching commands; null if there is nothing to complete. */
export function completeCommand(
  text: string,
  custom: readonly CustomCommand[],
  prompts: readonly ServerPrompt[],
): string | null {
  const beginning = /^\/(\S*)$/.exec(text)?.[1];
  if (beginning === undefined) return null;
  const names = [...matchingCommands(beginning, custom), ...matchingPrompts(beginning, prompts)].map(
    ({ name }) => name,
  );
  const [first] = names;
  if (first === undefined) return null;
  if (names.length === 1) return `/${first} `;
  let commonPrefix = first;
  while (!names.every((name) => name.startsWith(commonPrefix))) commonPrefix = commonPrefix.slice(0, -1);
  return commonPrefix.length > beginning.length ? `/${commonPrefix}` : null;
}
