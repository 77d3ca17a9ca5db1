/**
 * Resolves the configuration of a folder. Later sources override earlier ones: defaults, the person's file, the folder's file
 * if it is trusted, the person's file for this folder, the environment. Options of a command override all of them.
 */
import { basename, dirname } from "node:path";
import type { Json } from "../../index.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/store-location.js";
import { resolveProjectFolder } from "../permissions/project-folder.js";
import type { RuleLists } from "../permissions/rule-types.js";
import {
  type FolderTrust,
  isTrusted,
  listUntrustedFiles,
  readFolderSettings,
  readFolderTrust,
  type SuppliedFile,
} from "../trust/trust.js";
import {
  type ConfigurationFile,
  type ConfiguredLimits,
  configurationName,
  readConfiguration,
  type Settings,
} from "./configuration.js";
import type { ModelAliases } from "./model-aliases.js";
import { describeUnknownTool, listUnknownTools, settingDefaults, settingTable } from "./setting-table.js";

/** A setting and its source. */
export type ResolvedSetting = { readonly key: string; readonly value: Json; readonly from: string };

export type ResolvedConfiguration = {
  readonly user: ConfigurationFile | null;
  /** The folder's, if it is trusted. */
  readonly folder: ConfigurationFile | null;
  /** The person's file for this folder. */
  readonly project: ConfigurationFile | null;
  readonly trust: FolderTrust;
  /** All settings, with their sources. */
  readonly settings: readonly ResolvedSetting[];
  readonly model: string | undefined;
  readonly models: ModelAliases;
  readonly limits: ConfiguredLimits;
  /** Why some of the files that the folder supplies are off; null if all of them are on. */
  readonly warning: string | null;
};

export type ConfigurationFolders = { readonly root: string; readonly home: string; readonly environment?: Environment };

/** @throws PawlError `bad_configuration` */
export function resolveConfiguration({
  root,
  home,
  environment = process.env,
}: ConfigurationFolders): ResolvedConfiguration {
  const user = readConfiguration(resolveUserConfigurationFolder(environment));
  const trust = readFolderTrust(root, home);
  const folder = isTrusted(trust, configurationName) ? trust.configuration : null;
  const project = readConfiguration(resolveProjectFolder(home, root));
  const settings = mergeLayers([
    ["default", settingDefaults],
    ...[user, folder, project].flatMap((file) => (file === null ? [] : [[file.path, file.value.settings] as const])),
    ["PAWL_MODEL", readEnvironmentSettings(environment)],
  ]);
  const limits = settings.filter(({ key }) => key.startsWith("limits."));
  return {
    user,
    folder,
    project,
    trust,
    settings,
    model: findSettingValue(settings, "model") as string | undefined,
    models: (findSettingValue(settings, "models") ?? {}) as ModelAliases,
    limits: Object.fromEntries(limits.map(({ key, value }) => [key.slice("limits.".length), value])),
    warning: formatTrustWarning(trust),
  };
}

/** The settings from the environment. An empty variable sets nothing. */
function readEnvironmentSettings({ PAWL_MODEL: model = "" }: Environment): Settings {
  return model.trim() === "" ? {} : { model: model.trim() };
}

function mergeLayers(layers: readonly (readonly [from: string, settings: Settings])[]): readonly ResolvedSetting[] {
  const all = new Map<string, ResolvedSetting>();
  for (const [from, settings] of layers)
    for (const [key, value] of Object.entries(settings)) all.set(key, mergeSetting(all.get(key), { key, value, from }));
  // In the order of the table, independent of the layers.
  return Object.keys(settingTable).flatMap((key) => all.get(key) ?? []);
}

/** Model aliases are merged; any other value replaces the weaker one. */
function mergeSetting(base: ResolvedSetting | undefined, override: ResolvedSetting): ResolvedSetting {
  const { key, value, from } = override;
  if (base === undefined || settingTable[key]?.kind.type !== "models") return override;
  const names = { ...(base.value as ModelAliases), ...(value as ModelAliases) };
  return { key, value: names as Json, from: `${base.from}, ${from}` };
}

/** The names in `tools.off` that are not tools, in whole sentences, for the person. */
export function describeUnknownTools({ settings }: Pick<ResolvedConfiguration, "settings">): readonly string[] {
  const off = settings.find(({ key }) => key === "tools.off");
  return off === undefined
    ? []
    : listUnknownTools(off.value).map((tool) => `tools.off in ${off.from} ${describeUnknownTool(tool)}.`);
}

export function findSettingValue(settings: readonly ResolvedSetting[], key: string): Json | undefined {
  return settings.find((setting) => setting.key === key)?.value;
}

function formatTrustWarning(trust: FolderTrust): string | null {
  const untrusted = listUntrustedFiles(trust);
  const commands = untrusted.filter(({ kind }) => kind === "command");
  const agents = untrusted.filter(({ kind }) => kind === "agent");
  const others = untrusted.filter(({ kind }) => kind !== "command" && kind !== "agent");
  const files = others.map(({ path, before, effects }) => {
    const why = before === null ? "is not trusted" : "has changed since it was trusted";
    return `${path} ${why}, so this is off: it ${effects.join("; ")}.`;
  });
  const all = [
    ...files,
    ...formatFilesWarning("Commands", commands, "/"),
    ...[...new Set(agents.map(({ path }) => dirname(path)))].flatMap((folder) =>
      formatFilesWarning(
        "Agents",
        agents.filter(({ path }) => dirname(path) === folder),
        "",
      ),
    ),
  ];
  return all.length === 0 ? null : `${all.join(" ")} To review and decide: pawl trust`;
}

const maxNamed = 5;

/** A folder may have many commands and agents, so the list is bounded. One string, or none without files. */
function formatFilesWarning(plural: string, files: readonly SuppliedFile[], prefix: string): readonly string[] {
  const [first] = files;
  if (first === undefined) return [];
  const names = files.slice(0, maxNamed).map(({ path }) => `${prefix}${basename(path, ".md")}`);
  const more = files.length - names.length;
  const listed = [...names, ...(more === 0 ? [] : [`${more} more`])].join(", ");
  return [`${plural} of ${dirname(first.path)} are not trusted, or have changed since, so they are off: ${listed}.`];
}

/** The rules in the files. The folder's `allow` rules apply only if the folder is trusted; its other rules always apply. */
export function resolveRules({ root, home, environment = process.env }: ConfigurationFolders): {
  readonly user: RuleLists;
  readonly folder: RuleLists;
  readonly project: RuleLists;
} {
  const { configuration, isTrusted } = readFolderSettings(root, home);
  const { allow, ...others } = configuration?.value.permissions ?? {};
  return {
    user: readConfiguration(resolveUserConfigurationFolder(environment))?.value.permissions ?? {},
    folder: isTrusted && allow !== undefined ? { ...others, allow } : others,
    project: readConfiguration(resolveProjectFolder(home, root))?.value.permissions ?? {},
  };
}
