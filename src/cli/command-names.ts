/**
 * The names of the commands of a conversation. No file can take one of them over, so the trust in a folder goes by them, too; the
 * commands themselves bring libraries that trust does not need.
 */
export const commandNames = [
  "help",
  "keys",
  "status",
  "new",
  "resume",
  "fork",
  "diff",
  "undo",
  "redo",
  "model",
  "effort",
  "compact",
  "cost",
  "budget",
  "context",
  "tools",
  "mcp",
  "skills",
  "trust",
  "ps",
  "todo",
  "output",
  "copy",
  "trace",
  "approve",
  "mode",
  "permissions",
  "config",
  "export",
  "rename",
  "quit",
] as const;

export type CommandName = (typeof commandNames)[number];

export function isCommandName(name: string): name is CommandName {
  return commandNames.some((one) => one === name);
}
