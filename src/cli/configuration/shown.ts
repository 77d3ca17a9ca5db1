/**
 * What is in force, with where it comes from: for `pawl config` and `/config`.
 */
import { serverLine } from "../mcp/server-line.js";
import type { ServerInForce } from "../mcp/servers-in-force.js";
import type { Rule } from "../permissions/rule.js";
import { visible } from "../text.js";
import type { InForce } from "./in-force.js";

/** A setting with the file that it is from. */
type Setting = { readonly key: string; readonly value: string | number; readonly from: string };

export function settingsOf({ user, folder, model, limits }: InForce): readonly Setting[] {
  const fromFolder = (isThere: boolean) => (isThere ? (folder?.path ?? "") : (user?.path ?? ""));
  return [
    ...(model === undefined
      ? []
      : [{ key: "model", value: model, from: fromFolder(folder?.value.model !== undefined) }]),
    ...Object.entries(limits).map(([name, value]) => ({
      key: `limits.${name}`,
      value,
      from: fromFolder(Object.hasOwn(folder?.value.limits ?? {}, name)),
    })),
  ];
}

/** A line for each setting, rule and server. No character in it does anything to a terminal. */
export function linesInForce(
  present: InForce,
  rules: readonly Rule[],
  servers: readonly ServerInForce[],
): readonly string[] {
  const lines = [
    ...settingsOf(present).map(({ key, value, from }) => `${key}  ${value}  (${from})`),
    ...rules.map(({ verdict, rule, scope }) => `${verdict}  ${rule}  (${scope})`),
    ...servers.map(serverLine),
  ];
  return lines.length === 0
    ? ["Nothing is configured: the defaults are in force."]
    : lines.map((line) => visible(line.replace(/[\n\t]/g, " ")));
}
