/**
 * The agent files that apply in a folder: the person's own, and those of the folder that are trusted.
 */
import { createHash } from "node:crypto";
import { nearestName } from "../../core/index.js";
import { toAgentSettings } from "../configuration/agent-settings.js";
import type { ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/store-location.js";
import { type ResolvedText, resolveTexts } from "../files/text-folder.js";
import { agentToolPrefix, isAgentTool } from "../permissions/rule.js";
import { toOneLine, truncate } from "../terminal/text.js";
import type { FolderTrust } from "../trust/trust.js";
import { type AgentFile, nameAgentTool, readUserAgents } from "./agent-file.js";

/** An agent file, and why it is off; null if it is on. */
export type ResolvedAgent = ResolvedText<AgentFile>;

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
  /** Why files that could not be read as agents are ignored. */
  readonly ignored: readonly string[];
  /** Why files are ignored (`ignored` and files that others replace), and which parts of others have no effect. Files that only wait for trust are not included. */
  readonly problems: readonly string[];
};

export function resolveAgents(
  { files, agents }: Pick<FolderTrust, "files" | "agents">,
  environment: Environment = process.env,
): ResolvedAgents {
  const user = readUserAgents(resolveUserConfigurationFolder(environment));
  const { all, problems } = resolveTexts("an agent", user, agents, files);
  const list = all.filter(({ off }) => off === null);
  return {
    all,
    list,
    ignored: [...user.problems, ...agents.problems],
    problems: [
      ...problems,
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

/** Hashes the files, for processes that keep an agent as long as its files are unchanged. */
export function hashAgentFiles(files: readonly AgentFile[]): string {
  const contents = files.map(({ path, text }) => [path, text]);
  return createHash("sha256").update(JSON.stringify(contents)).digest("hex");
}

/**
 * The agents that the setting `tools.off` probably misspells, in whole sentences. A name that resembles no agent is not reported:
 * another folder may have that agent.
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
        `The setting tools.off names ${tool}, but there is no such agent. Do you mean ${nameAgentTool({ name: nearest })}?`,
      ),
    ];
  });
}
