/**
 * The text of `/help`: the commands by what they are for.
 */
import type { CommandName } from "../../command-names.js";
import type { Line } from "../../screen/line.js";
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

/** @param custom the commands in files */
export function renderHelp(
  columns: number,
  commands: readonly (HelpEntry & { readonly name: CommandName })[],
  custom: readonly HelpEntry[],
): readonly Line[] {
  const toEntry = ({ name, takes, about }: HelpEntry) => ({ head: `/${name} ${takes}`.trimEnd(), about });
  const shown = groups.map(({ heading, names }) => ({
    heading,
    entries: names.flatMap((name) => commands.filter((command) => command.name === name)).map(toEntry),
  }));
  const ofFiles = custom.length === 0 ? [] : [{ heading: "Commands in files", entries: custom.map(toEntry) }];
  return [
    ...renderListGroups([...shown, ...ofFiles], columns),
    [],
    ...helpNotes.flatMap((note) => wrapNote(note, columns, "dim")),
  ];
}

const helpNotes: readonly string[] = [
  "!command runs a command of yours in the folder; its output joins your next message.",
  "@path adds a file of the folder to the message.",
  "/server:prompt shows a prompt of an MCP server, and asks whether to send it.",
  "// begins a message that starts with a slash.",
  "pawl --screen-reader starts without a live screen; the setting ui.screenReader does so each time.",
];
