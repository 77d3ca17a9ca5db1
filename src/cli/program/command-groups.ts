/**
 * The commands of the program by subject. They are in a separate file because hints look up command names before the program is loaded.
 */

/** The headings under which the help lists the commands. */
export const helpGroups: { readonly [heading: string]: readonly string[] } = {
  "Get started:": ["init"],
  "Work:": ["run", "resume", "agents", "abort", "steer", "fork"],
  "Approvals:": ["approvals", "approve", "deny"],
  "Sessions:": ["sessions", "trace", "replay", "eval"],
  "Folder settings:": ["config", "permissions", "sandbox", "trust", "hooks"],
  "Servers and workers:": ["worker", "schedule", "notices", "serve", "ui", "acp", "mcp", "postgres"],
  "More:": ["doctor", "completion", "help"],
};
