/**
 * The agent files that apply in a folder: the person's own, and those of the folder that are trusted.
 */
import { nearestName } from "../../core/index.js";
import { toAgentSettings } from "../configuration/agent-settings.js";
import type { ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/session-store.js";
import { agentToolPrefix, isAgentTool } from "../permissions/rule.js";
import { toOneLine, truncate } from "../terminal/text.js";
import type { FolderTrust } from "../trust/trust.js";
import { type AgentFile, nameAgentTool, readUserAgents } from "./agent-file.js";

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
  const trusted = new Set(files.filter(({ isTrusted }) => isTrusted).map(({ path }) => path));
  const isUntrusted = ({ scope, path }: Pick<ResolvedAgent, "scope" | "path">) =>
    scope === "folder" && !trusted.has(path);
  /** The first trusted agent of each name. */
  const byName = new Map<string, Pick<ResolvedAgent, "scope" | "path">>();
  const resolve = (file: AgentFile, scope: ResolvedAgent["scope"]): ResolvedAgent => {
    if (isUntrusted({ scope, path: file.path })) return { ...file, scope, off: "its file is not trusted: pawl trust" };
    const first = byName.get(file.name);
    if (first === undefined) {
      byName.set(file.name, { scope, path: file.path });
      return { ...file, scope, off: null };
    }
    const isShadowed = scope === "folder" && first.scope === "user";
    const off = isShadowed ? "you have an agent of this name yourself" : `${first.path} has an agent of the same name`;
    return { ...file, scope, off };
  };
  const all: readonly ResolvedAgent[] = [
    ...user.list.map((file) => resolve(file, "user")),
    ...agents.list.map((file) => resolve(file, "folder")),
  ];
  const list = all.filter(({ off }) => off === null);
  const replaced = all.filter((agent) => agent.off !== null && !isUntrusted(agent));
  const ignored = [...user.problems, ...agents.problems];
  return {
    all,
    list,
    ignored,
    problems: [
      ...ignored,
      ...replaced.map(({ path, off }) => toOneLine(`${path} is off: ${off}.`)),
      ...list.flatMap(({ path, notes }) => (notes.length === 0 ? [] : [toOneLine(`${path}: ${notes.join(" ")}`)])),
    ],
  };
}

type Configured = Pick<ResolvedConfiguration, "trust" | "settings">;

/** All agents, and why each is off: because of its file, or by the setting `tools.off`. */
export function listConfiguredAgents(configured: Configured): readonly ResolvedAgent[] {
  const { toolsOff } = toAgentSettings(configured);
  return resolveAgents(configured.trust).all.map((agent) =>
    agent.off === null && toolsOff.has(nameAgentTool(agent))
      ? { ...agent, off: "the setting tools.off names its tool" }
      : agent,
  );
}

/**
 * The agents that the setting `tools.off` probably misspells, in whole sentences. A name that is like no agent is not reported: another
 * folder may have that agent.
 */
export function describeMisspelledAgents(configured: Configured, all: readonly AgentFile[]): readonly string[] {
  const names = all.map(({ name }) => name);
  return [...toAgentSettings(configured).toolsOff].flatMap((tool) => {
    if (!isAgentTool(tool)) return [];
    const name = tool.slice(agentToolPrefix.length);
    const nearest = names.includes(name) ? undefined : nearestName(name, names);
    if (nearest === undefined) return [];
    return [
      toOneLine(
        `The setting tools.off names ${tool}, and there is no such agent. Do you mean ${nameAgentTool({ name: nearest })}?`,
      ),
    ];
  });
}
