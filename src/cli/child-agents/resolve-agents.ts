/**
 * The agent files that apply in a folder: the person's own, and those of the folder that are trusted.
 */
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/session-store.js";
import { toOneLine, truncate } from "../terminal/text.js";
import type { FolderTrust } from "../trust/trust.js";
import { type AgentFile, readUserAgents } from "./agent-file.js";

/** An agent file, and why it is off; null if it is on. */
export type ResolvedAgent = AgentFile & { readonly scope: "user" | "folder"; readonly off: string | null };

/** Formats an agent for `pawl config`. The result may have control characters. */
export function formatAgent({ name, path, description, off }: ResolvedAgent): string {
  const about = truncate(description, maxAbout);
  return `agent  ${name}  ${about}  (${path})${off === null ? "" : `  off: ${off}`}`;
}

/** Columns. */
const maxAbout = 100;

/** The agent as JSON, for programs. */
export function toAgentRecord({ name, scope, path, description, notes, off }: ResolvedAgent) {
  return { name, scope, path, description, notes, ...(off === null ? { on: true } : { on: false, why: off }) };
}

export type ResolvedAgents = {
  readonly all: readonly ResolvedAgent[];
  /** The agents that are on. */
  readonly list: readonly ResolvedAgent[];
  /** Why files are ignored that could not be read as agents. */
  readonly ignored: readonly string[];
  /** Why files are ignored (`ignored` and files that others replace), and which parts of others have no effect. Files that only wait for trust are not included. */
  readonly problems: readonly string[];
};

export function resolveAgents(
  { files, agents }: Pick<FolderTrust, "files" | "agents">,
  environment: Environment = process.env,
): ResolvedAgents {
  const user = readUserAgents(resolveUserConfigurationFolder(environment));
  const userNames = new Set(user.list.map(({ name }) => name));
  const trusted = new Set(files.filter(({ isTrusted }) => isTrusted).map(({ path }) => path));
  const all: readonly ResolvedAgent[] = [
    ...user.list.map((file) => ({ ...file, scope: "user" as const, off: null })),
    ...agents.list.map((file) => {
      const shadowed = userNames.has(file.name) ? "you have an agent of this name yourself" : null;
      const off = trusted.has(file.path) ? shadowed : "its file is not trusted: pawl trust";
      return { ...file, scope: "folder" as const, off };
    }),
  ];
  const list = all.filter(({ off }) => off === null);
  const shadowed = all.filter(({ scope, off, path }) => scope === "folder" && off !== null && trusted.has(path));
  const ignored = [...user.problems, ...agents.problems];
  return {
    all,
    list,
    ignored,
    problems: [
      ...ignored,
      ...shadowed.map(({ path, off }) => toOneLine(`${path} is off: ${off}.`)),
      ...list.flatMap(({ path, notes }) => (notes.length === 0 ? [] : [toOneLine(`${path}: ${notes.join(" ")}`)])),
    ],
  };
}
