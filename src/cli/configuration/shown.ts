/**
 * What is in force, with where it comes from: for `pawl config` and `/config`.
 */
import type { Json } from "../../index.js";
import { serverLine } from "../mcp/server-line.js";
import type { ServerInForce } from "../mcp/servers-in-force.js";
import type { Rule } from "../permissions/rule.js";
import { visible } from "../text.js";
import { type CommandInForce, commandLine } from "./commands-in-force.js";
import type { InForce, SettingInForce } from "./in-force.js";

/** What is set by somebody. The defaults are in the guide. */
export function settingsOf({ settings }: InForce): readonly SettingInForce[] {
  return settings.filter(({ from }) => from !== "default");
}

/** A value as a person writes it. */
export function shownValue(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A line for each setting, rule, server and command. No character in it does anything to a terminal. */
export function linesInForce(
  present: InForce,
  rules: readonly Rule[],
  servers: readonly ServerInForce[],
  commands: readonly CommandInForce[],
): readonly string[] {
  const lines = [
    ...settingsOf(present).map(({ key, value, from }) => `${key}  ${shownValue(value)}  (${from})`),
    ...rules.map(({ verdict, rule, scope }) => `${verdict}  ${rule}  (${scope})`),
    ...servers.map(serverLine),
    ...commands.map(commandLine),
  ];
  return lines.length === 0
    ? ["Nothing is configured: the defaults are in force."]
    : lines.map((line) => visible(line.replace(/[\n\t]/g, " ")));
}
