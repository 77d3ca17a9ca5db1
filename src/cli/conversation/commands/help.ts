/**
 * The text of `/help`: the commands, grouped by purpose.
 */
import type { CommandName } from "../../command-names.js";
import type { Line } from "../../screen/line.js";
import { toOneLine, truncate } from "../../terminal/text.js";
import { renderListGroups } from "../lines/list-lines.js";
import { wrapNote } from "../lines/view-lines.js";

/** The end of a long list is what stays on the screen, so the commands that people need most come last. */
const groups: readonly { readonly heading: string; readonly names: readonly CommandName[] }[] = [
  { heading: "Settings and help", names: ["config", "keys", "help"] },
  { heading: "What the model can use", names: ["tools", "mcp", "skills", "agents", "hooks"] },
  { heading: "Questions and permissions", names: ["approve", "permissions", "trust", "mode"] },
  { heading: "Model and cost", names: ["context", "trace", "effort", "budget", "cost", "model"] },
  { heading: "The model's work", names: ["ps", "todo", "output", "copy", "diff", "redo", "undo"] },
  {
    heading: "Sessions",
    names: ["status", "rename", "export", "compact", "fork", "resume", "new", "quit"],
  },
];

type HelpEntry = { readonly name: string; readonly takes: string; readonly about: string };

export type HelpContent = {
  readonly commands: readonly (HelpEntry & { readonly name: CommandName })[];
  /** The commands in files. */
  readonly custom: readonly HelpEntry[];
  /** The prompts of MCP servers. */
  readonly prompts: readonly HelpEntry[];
  /** Only commands with this in their name or description are shown; empty: all commands. */
  readonly word: string;
};

export function renderHelp(columns: number, { commands, custom, prompts, word }: HelpContent): readonly Line[] {
  const toEntry = ({ name, takes, about }: HelpEntry) => ({ head: `/${name} ${takes}`.trimEnd(), about });
  const toPromptEntry = (prompt: HelpEntry) => {
    const { head, about } = toEntry(prompt);
    return { head: toOneLine(head), about: truncate(toOneLine(about), maxPromptAbout) };
  };
  const isShown = ({ name, about }: HelpEntry) => `/${name} ${about}`.toLowerCase().includes(word.toLowerCase());
  const all = [
    ...groups.map(({ heading, names }) => ({
      heading,
      entries: names
        .flatMap((name) => commands.filter((command) => command.name === name && isShown(command)))
        .map(toEntry),
    })),
    { heading: "Commands in files", entries: custom.filter(isShown).map(toEntry) },
    { heading: "Prompts of MCP servers", entries: prompts.filter(isShown).slice(0, maxPrompts).map(toPromptEntry) },
  ];
  const shown = all.filter(({ entries }) => entries.length > 0);
  if (shown.length === 0)
    return wrapNote(`No command is about "${truncate(toOneLine(word), maxWord)}". /help lists all.`, columns, "yellow");
  const lists = renderListGroups(shown, columns);
  return word === "" ? [...lists, [], ...helpNotes.flatMap((note) => wrapNote(note, columns, "dim"))] : lists;
}

const maxWord = 60;
/** Prompts that the help shows. `/mcp prompt` lists all. */
const maxPrompts = 50;
const maxPromptAbout = 200;

const helpNotes: readonly string[] = [
  "!command runs your command in the folder; its output is attached to your next message.",
  "@path adds a file of the folder to the message, and @server:uri a resource of an MCP server.",
  "/server:prompt shows a prompt of an MCP server, and asks whether to send it.",
  "Shift+Tab changes the mode: ask, edits, plan.",
  "// begins a message that starts with a slash.",
  "pawl --screen-reader starts without a live screen; the setting ui.screenReader always does.",
];
