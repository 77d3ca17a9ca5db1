/**
 * The commands of a conversation: their names, what they do, and which one is meant.
 */

import type { CommandName } from "../command-names.js";
import { type CustomCommand, textWith } from "../configuration/commands-in-force.js";
import type { Line } from "../screen/line.js";
import { approve } from "./approve-command.js";
import { processes } from "./background-command.js";
import { budget, effort } from "./choice-commands.js";
import { compact } from "./compact-command.js";
import { configuration } from "./config-command.js";
import { context } from "./context-command.js";
import { cost } from "./cost-command.js";
import { diff } from "./diff-command.js";
import { exportSession } from "./export-command.js";
import { fork } from "./fork-command.js";
import { keyHelp } from "./key-help.js";
import { listedLines } from "./listed-lines.js";
import * as looks from "./look-commands.js";
import { mcpServers } from "./mcp-command.js";
import { mode } from "./mode-command.js";
import { model } from "./model-command.js";
import { permissions } from "./permission-commands.js";
import { rename } from "./rename-command.js";
import type { CommandContext } from "./session-commands.js";
import * as acts from "./session-commands.js";
import { listSkills } from "./skills-command.js";
import { trust } from "./trust-command.js";
import { redo, undo } from "./undo-command.js";
import { wrappedNote } from "./view-lines.js";

export type Command = {
  readonly name: string;
  /** What may follow the name. */
  readonly takes: string;
  readonly about: string;
  /** Refused while a run is at work. */
  readonly atRest: boolean;
  readonly run: (context: CommandContext, words: string) => Promise<void>;
};

export const commands: readonly (Command & { readonly name: CommandName })[] = [
  {
    name: "help",
    takes: "",
    about: "these commands",
    atRest: false,
    run: async ({ say, columns, custom }) => say(helpLines(columns(), commandsWith(custom.list))),
  },
  {
    name: "keys",
    takes: "",
    about: "the keys",
    atRest: false,
    run: async ({ say, columns }) => say(keyHelp(columns())),
  },
  { name: "status", takes: "", about: "version, session, folder, model, sandbox", atRest: false, run: acts.status },
  { name: "new", takes: "", about: "begins a new session", atRest: true, run: acts.startNew },
  {
    name: "resume",
    takes: "[id]",
    about: "goes on with another session; the list has those of other folders, too",
    atRest: true,
    run: acts.resume,
  },
  {
    name: "fork",
    takes: "[n]",
    about: "a new session from before your message n, which is in the editor then",
    atRest: true,
    run: fork,
  },
  {
    name: "diff",
    takes: "[n]",
    about: "what file tools changed, or only in the last n runs",
    atRest: false,
    run: diff,
  },
  {
    name: "undo",
    takes: "[n]",
    about: "takes back what file tools wrote in the last n runs; shows it, and asks",
    atRest: true,
    run: undo,
  },
  { name: "redo", takes: "", about: "brings forward what /undo has taken back", atRest: true, run: redo },
  {
    name: "model",
    takes: "[name]",
    about: "which model answers, or another one from the next message on",
    atRest: true,
    run: model,
  },
  {
    name: "effort",
    takes: "[level]",
    about: "how much the model thinks, from the next message on",
    atRest: true,
    run: effort,
  },
  {
    name: "compact",
    takes: "[what to keep]",
    about: "sums the conversation up now, to make room; in a run, before its next model call",
    atRest: false,
    run: compact,
  },
  {
    name: "cost",
    takes: "",
    about: "tokens and cost of the last run and of the session, by model",
    atRest: false,
    run: cost,
  },
  {
    name: "budget",
    takes: "[$2]",
    about: "what a run may cost: this one and the next ones; off takes the limit away",
    atRest: false,
    run: budget,
  },
  {
    name: "context",
    takes: "",
    about: "what the model was sent last, in tokens, and what was left out",
    atRest: false,
    run: context,
  },
  { name: "tools", takes: "", about: "the tools of the model, and why some are off", atRest: false, run: acts.tools },
  {
    name: "mcp",
    takes: "[log x]",
    about: "the MCP servers, and why some are off; what x has written, and /mcp restart x",
    atRest: false,
    run: mcpServers,
  },
  { name: "skills", takes: "", about: "the skills that the model is told of", atRest: false, run: listSkills },
  {
    name: "trust",
    takes: "[revoke]",
    about: "what the folder brings, and whether it counts; asks, or takes the trust away",
    atRest: true,
    run: trust,
  },
  {
    name: "ps",
    takes: "[n]",
    about: "processes in the background: their output, and /ps stop n",
    atRest: false,
    run: processes,
  },
  { name: "todo", takes: "", about: "the plan that the model keeps", atRest: false, run: looks.plan },
  {
    name: "output",
    takes: "[n]",
    about: "the whole output of a call in your pager; 1 is the last call",
    atRest: false,
    run: looks.output,
  },
  {
    name: "copy",
    takes: "[n]",
    about: "copies the last answer, or its n-th code block",
    atRest: false,
    run: looks.copyAnswer,
  },
  { name: "trace", takes: "", about: "where the time of the last run went", atRest: false, run: looks.trace },
  {
    name: "approve",
    takes: "[id]",
    about: "what waits for an answer, in all sessions; shows it whole, and asks",
    atRest: false,
    run: approve,
  },
  {
    name: "mode",
    takes: "[edits]",
    about: "edits: files of the folder are changed without a question, in this session; ask: with one",
    atRest: false,
    run: mode,
  },
  {
    name: "permissions",
    takes: "[…]",
    about: "what is allowed, asked and denied by rules; adds, removes and tests",
    atRest: false,
    run: permissions,
  },
  {
    name: "config",
    takes: "",
    about: "what is in force, and where each part is from",
    atRest: false,
    run: configuration,
  },
  {
    name: "export",
    takes: "[file]",
    about: "writes the session to a file: .md, .html, or .jsonl for the whole log",
    atRest: false,
    run: exportSession,
  },
  {
    name: "rename",
    takes: "[title]",
    about: "the title of this session in lists, or another one",
    atRest: false,
    run: rename,
  },
  { name: "quit", takes: "", about: "leaves, and says how to go on", atRest: false, run: async ({ quit }) => quit() },
];

function commandsWith(custom: readonly CustomCommand[]): readonly Command[] {
  return [...commands, ...custom.map(commandOf)];
}

function commandOf(custom: CustomCommand): Command {
  return {
    name: custom.name,
    takes: "[words]",
    about: `${custom.scope === "user" ? "sends your text" : "sends this folder's text"}: ${custom.about}`,
    atRest: false,
    run: async ({ send }, words) => send(textWith(custom, words), words),
  };
}

function helpLines(columns: number, commands: readonly Command[]): readonly Line[] {
  const entries = commands.map(({ name, takes, about }) => ({ head: `/${name} ${takes}`, about }));
  return [...listedLines(entries, columns), ...notes.flatMap((note) => wrappedNote(note, columns, "dim"))];
}

const notes: readonly string[] = [
  "!command runs a command of yours in the folder; its output joins your next message.",
  "@path adds a file of the folder to the message.",
  "// begins a message that starts with a slash.",
  "pawl --screen-reader starts without a live screen; the setting ui.screenReader does so each time.",
];

export type Found =
  | { readonly type: "command"; readonly command: Command; readonly words: string }
  | { readonly type: "unknown"; readonly message: string };

/** The command that a line names; a beginning that fits only one command is enough. */
export function findCommand(line: string, custom: readonly CustomCommand[]): Found {
  const [, name = "", words = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
  const all = commandsWith(custom);
  const exact = all.find((command) => command.name === name);
  const fitting = matchingCommands(name, custom);
  const [only] = fitting;
  const command = exact ?? (fitting.length === 1 ? only : undefined);
  if (command !== undefined) return { type: "command", command, words: words.trim() };
  const near = fitting.length > 0 ? fitting : all.filter((one) => distance(one.name, name) <= 2);
  const meant =
    near.length === 0 ? "/help lists the commands" : `Did you mean ${near.map((one) => `/${one.name}`).join(" or ")}?`;
  return {
    type: "unknown",
    message: `There is no command /${name}. ${meant.replace(/([a-z])$/, "$1.")} Nothing was sent.`,
  };
}

/** The commands whose names begin like this. */
export function matchingCommands(beginning: string, custom: readonly CustomCommand[]): readonly Command[] {
  return commandsWith(custom).filter(({ name }) => name.startsWith(beginning.toLowerCase()));
}

/** The draft after Tab: what all commands that fit have in common; null if there is nothing to complete. */
export function completed(text: string, custom: readonly CustomCommand[]): string | null {
  const beginning = /^\/(\S*)$/.exec(text)?.[1];
  if (beginning === undefined) return null;
  const names = matchingCommands(beginning, custom).map(({ name }) => name);
  const [first] = names;
  if (first === undefined) return null;
  if (names.length === 1) return `/${first} `;
  let common = first;
  while (!names.every((name) => name.startsWith(common))) common = common.slice(0, -1);
  return common.length > beginning.length ? `/${common}` : null;
}

/** How many letters differ between two short names. A longer name is as far away as can be. */
function distance(left: string, right: string): number {
  if (right.length > 12) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [down, letter] of [...left].entries()) {
    const next = [down + 1];
    for (const [across, other] of [...right].entries())
      next.push(
        Math.min((row[across] ?? 0) + (letter === other ? 0 : 1), (row[across + 1] ?? 0) + 1, (next[across] ?? 0) + 1),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}
