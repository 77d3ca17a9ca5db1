/**
 * What is in force in a folder. The weakest stands first: defaults, the person's file, the folder's as far as it is trusted, the person's
 * file for this folder, the environment. Options of a command are above them.
 */
import { basename, dirname } from "node:path";
import type { Json } from "../../index.js";
import { configurationOf } from "../configuration-folder.js";
import type { Environment } from "../home.js";
import { projectFolder } from "../permissions/project.js";
import type { RuleLists } from "../permissions/rule-text.js";
import {
  type BroughtFile,
  type FolderTrust,
  folderSettings,
  folderTrust,
  isTrusted,
  untrustedFiles,
} from "../trust/trust.js";
import {
  type ConfigurationFile,
  type ConfiguredLimits,
  configurationName,
  readConfiguration,
  type Settings,
} from "./configuration.js";
import type { ModelAliases } from "./model-aliases.js";
import { settingDefaults, settingTable } from "./setting-table.js";

/** A setting with what it is from. */
export type SettingInForce = { readonly key: string; readonly value: Json; readonly from: string };

export type InForce = {
  readonly user: ConfigurationFile | null;
  /** The folder's, if it is trusted. */
  readonly folder: ConfigurationFile | null;
  /** The person's file for this folder. */
  readonly project: ConfigurationFile | null;
  readonly trust: FolderTrust;
  /** All that is set, with where it is from. */
  readonly settings: readonly SettingInForce[];
  readonly model: string | undefined;
  readonly models: ModelAliases;
  readonly limits: ConfiguredLimits;
  /** Why a part of what the folder brings is off; null if all of it counts. */
  readonly notice: string | null;
};

export type Place = { readonly root: string; readonly home: string; readonly environment?: Environment };

/** @throws PawlError `bad_configuration` */
export function configurationInForce({ root, home, environment = process.env }: Place): InForce {
  const user = readConfiguration(configurationOf(environment));
  const trust = folderTrust(root, home);
  const folder = isTrusted(trust, configurationName) ? trust.configuration : null;
  const project = readConfiguration(projectFolder(home, root));
  const settings = merged([
    ["default", settingDefaults],
    ...[user, folder, project].flatMap((file) => (file === null ? [] : [[file.path, file.value.settings] as const])),
    ["PAWL_MODEL", environmentSettings(environment)],
  ]);
  const limits = settings.filter(({ key }) => key.startsWith("limits."));
  return {
    user,
    folder,
    project,
    trust,
    settings,
    model: settingValue(settings, "model") as string | undefined,
    models: (settingValue(settings, "models") ?? {}) as ModelAliases,
    limits: Object.fromEntries(limits.map(({ key, value }) => [key.slice("limits.".length), value])),
    notice: noticeOf(trust),
  };
}

/** What the environment sets. An empty variable sets nothing. */
function environmentSettings({ PAWL_MODEL: model = "" }: Environment): Settings {
  return model.trim() === "" ? {} : { model: model.trim() };
}

function merged(layers: readonly (readonly [from: string, settings: Settings])[]): readonly SettingInForce[] {
  const all = new Map<string, SettingInForce>();
  for (const [from, settings] of layers)
    for (const [key, value] of Object.entries(settings)) all.set(key, over(all.get(key), { key, value, from }));
  // In the order of the table, whatever the layers are.
  return Object.keys(settingTable).flatMap((key) => all.get(key) ?? []);
}

/** Names of models add up; another value takes the place of the weaker one. */
function over(weaker: SettingInForce | undefined, present: SettingInForce): SettingInForce {
  const { key, value, from } = present;
  if (weaker === undefined || settingTable[key]?.kind.type !== "models") return present;
  const names = { ...(weaker.value as ModelAliases), ...(value as ModelAliases) };
  return { key, value: names as Json, from: `${weaker.from}, ${from}` };
}

export function settingValue(settings: readonly SettingInForce[], key: string): Json | undefined {
  return settings.find((setting) => setting.key === key)?.value;
}

function noticeOf(trust: FolderTrust): string | null {
  const untrusted = untrustedFiles(trust);
  const commands = untrusted.filter(({ kind }) => kind === "command");
  const others = untrusted.filter(({ kind }) => kind !== "command");
  const files = others.map(({ path, before, effects }) => {
    const why = before === null ? "is not trusted" : "has changed since it was trusted";
    return `${path} ${why}, so it does not count that it ${effects.join("; ")}.`;
  });
  const all = [...files, ...(commands.length === 0 ? [] : [noticeOfCommands(commands)])];
  return all.length === 0 ? null : `${all.join(" ")} To look at it and decide: pawl trust`;
}

const mostNamed = 5;

/** A folder may bring many. */
function noticeOfCommands(commands: readonly BroughtFile[]): string {
  const names = commands.slice(0, mostNamed).map(({ path }) => `/${basename(path, ".md")}`);
  const more = commands.length - names.length;
  const listed = [...names, ...(more === 0 ? [] : [`${more} more`])].join(", ");
  return `Commands of ${dirname(commands[0]?.path ?? "")} are not trusted, or have changed since, so they are off: ${listed}.`;
}

/** The rules of the files. What the folder allows counts only if it is trusted, and its other rules always. */
export function configuredRules({ root, home, environment = process.env }: Place): {
  readonly user: RuleLists;
  readonly folder: RuleLists;
  readonly project: RuleLists;
} {
  const { configuration, isTrusted } = folderSettings(root, home);
  const { allow, ...others } = configuration?.value.permissions ?? {};
  return {
    user: readConfiguration(configurationOf(environment))?.value.permissions ?? {},
    folder: isTrusted && allow !== undefined ? { ...others, allow } : others,
    project: readConfiguration(projectFolder(home, root))?.value.permissions ?? {},
  };
}
