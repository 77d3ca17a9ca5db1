/**
 * The names of the built-in commands of a conversation. A command file cannot override them, so the trust code also needs these names.
 * They are in a separate file because the commands import libraries that the trust code does not need.
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
  "agents",
  "hooks",
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
