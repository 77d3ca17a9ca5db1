/**
 * The text of `/help`: the commands, grouped by purpose.
 */
import type { CommandName } from "../../command-names.js";
import type { Line } from "../../screen/line.js";
import { toOneLine, truncate } from "../../terminal/text.js";
import { renderListGroups } from "../lines/list-lines.js";
import { wrapNote } from "../lines/view-lines.js";

const groups: readonly { readonly heading: string; readonly names: readonly CommandName[] }[] = [
  {
    heading: "Sessions",
    names: ["new", "resume", "fork", "rename", "export", "compact", "status", "quit"],
  },
  { heading: "The model's work", names: ["diff", "undo", "redo", "output", "copy", "todo", "ps"] },
  { heading: "Questions and permissions", names: ["approve", "mode", "permissions", "trust"] },
  { heading: "Model and cost", names: ["model", "effort", "budget", "cost", "context", "trace"] },
  { heading: "What the model can use", names: ["tools", "mcp", "skills", "agents", "hooks"] },
  { heading: "Settings and help", names: ["config", "help", "keys"] },
];

type HelpEntry = { readonly name: string; readonly takes: string; readonly about: string };

/** @param custom the commands in files. @param prompts the prompts of MCP servers */
export function renderHelp(
  columns: number,
  commands: readonly (HelpEntry & { readonly name: CommandName })[],
  custom: readonly HelpEntry[],
  prompts: readonly HelpEntry[] = [],
): readonly Line[] {
  const toEntry = ({ name, takes, about }: HelpEntry) => ({ head: `/${name} ${takes}`.trimEnd(), about });
  const toPromptEntry = (prompt: HelpEntry) => {
    const { head, about } = toEntry(prompt);
    return { head: toOneLine(head), about: truncate(toOneLine(about), maxPromptAbout) };
  };
  const shown = groups.map(({ heading, names }) => ({
    heading,
    entries: names.flatMap((name) => commands.filter((command) => command.name === name)).map(toEntry),
  }));
  const fileCommandGroups = custom.length === 0 ? [] : [{ heading: "Commands in files", entries: custom.map(toEntry) }];
  const promptGroups =
    prompts.length === 0
      ? []
      : [{ heading: "Prompts of MCP servers", entries: prompts.slice(0, maxPrompts).map(toPromptEntry) }];
  return [
    ...renderListGroups([...shown, ...fileCommandGroups, ...promptGroups], columns),
    [],
    ...helpNotes.flatMap((note) => wrapNote(note, columns, "dim")),
  ];
}

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
