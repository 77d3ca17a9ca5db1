/**
 * The commands of the program by subject. A file of its own, because hints look for their names before the program is loaded.
 */

/** The headings under which the help lists the commands. */
export const helpGroups: { readonly [heading: string]: readonly string[] } = {
  "Begin:": ["init"],
  "Work:": ["run", "resume", "agents", "abort", "steer", "fork"],
  "Calls that wait for a person:": ["approvals", "approve", "deny"],
  "Sessions:": ["sessions", "trace", "replay", "eval"],
  "Settings of a folder:": ["config", "permissions", "sandbox", "trust"],
  "Servers and workers:": ["worker", "schedule", "notices", "serve", "ui", "acp", "mcp", "postgres"],
  "More:": ["doctor", "completion"],
};
