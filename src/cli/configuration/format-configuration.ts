/**
 * Formats the settings that apply and where each comes from, for `pawl config` and `/config`.
 */
import type { Json } from "../../index.js";
import { formatAgent, type ResolvedAgent } from "../child-agents/resolve-agents.js";
import { formatHook, type ResolvedHook } from "../hooks/resolve-hooks.js";
import { formatServer } from "../mcp/format-server.js";
import type { ResolvedServer } from "../mcp/resolve-servers.js";
import type { Rule } from "../permissions/rule.js";
import { sanitize } from "../terminal/text.js";
import { formatCommand, type ResolvedCommand } from "./resolve-commands.js";
import type { ResolvedConfiguration, ResolvedSetting } from "./resolve-configuration.js";

/** The settings that a file or the environment sets. The guide lists the defaults. */
export function listChangedSettings({ settings }: ResolvedConfiguration): readonly ResolvedSetting[] {
  return settings.filter(({ from }) => from !== "default");
}

/** A value as it is written on the command line. */
export function formatSettingValue(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A line for each setting, rule, server, command, agent and hook. The lines contain no control characters. */
export function formatConfiguration(
  configured: ResolvedConfiguration,
  rules: readonly Rule[],
  servers: readonly ResolvedServer[],
  commands: readonly ResolvedCommand[],
  agents: readonly ResolvedAgent[],
  hooks: readonly ResolvedHook[],
): readonly string[] {
  const lines = [
    ...listChangedSettings(configured).map(({ key, value, from }) => `${key}  ${formatSettingValue(value)}  (${from})`),
    ...rules.map(({ verdict, rule, scope }) => `${verdict}  ${rule}  (${scope})`),
    ...servers.map(formatServer),
    ...commands.map(formatCommand),
    ...agents.map(formatAgent),
    ...hooks.map(formatHook),
  ];
  return lines.length === 0
    ? ["Nothing is configured: the defaults are in force."]
    : lines.map((line) => sanitize(line.replace(/[\n\t]/g, " ")));
}
