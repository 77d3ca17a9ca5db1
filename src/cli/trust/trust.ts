/**
 * Trust in what a folder brings: its `pawl.config.json`, its `.mcp.json` and the commands in `.pawl/commands`. Before a person has
 * trusted a file, nothing in it sets, allows, starts or sends anything; what it asks and denies counts at once, because that only
 * makes the agent more careful (SEC-17).
 *
 * 1. Trust is in the bytes of a file, at its real path, in this folder, and in the files of the folder that its servers may run
 *    (started-files.ts). Any change takes it away, from that file alone.
 * 2. It is kept in the home, outside of the folder. No option, environment variable or parent folder gives it.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "../../index.js";
import {
  type CommandFile,
  type CommandFiles,
  folderCommandsName,
  readFolderCommands,
} from "../configuration/command-files.js";
import { type ConfigurationFile, configurationName, readConfiguration } from "../configuration/configuration.js";
import { settingTable } from "../configuration/setting-table.js";
import { folderServersName, formatServerTarget, readServersFile, type ServersFile } from "../mcp/servers-file.js";
import { findAllowedRuleNote } from "../permissions/rule-note.js";
import { canRunOtherFiles, hashFile, hashFolderState, listNamedFiles } from "./started-files.js";

/** A file that the folder brings. */
export type SuppliedFile = {
  readonly kind: "settings" | "servers" | "command";
  /** Its place in the folder. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly hash: string;
  readonly isTrusted: boolean;
  /** The text that was trusted before the file changed; null if none was. */
  readonly before: string | null;
  /** What it would do once it is trusted, in words. */
  readonly effects: readonly string[];
};

export type FolderTrust = {
  /** What the folder brings, in this order. */
  readonly files: readonly SuppliedFile[];
  readonly configuration: ConfigurationFile | null;
  readonly servers: ServersFile | null;
  readonly commands: CommandFiles;
  /** The hash to trust, with `pawl trust --hash`: of all files. Empty without a file. */
  readonly hash: string;
};

type TrustedFile = { readonly name: string; readonly hash: string; readonly text: string };
type TrustRecord = {
  readonly folder: string;
  readonly files: readonly TrustedFile[];
  readonly by: string;
  readonly at: string;
};

/** What a folder that needs no trust has. */
export const nothingToTrustText = `no ${configurationName}, no ${folderServersName} and no commands in ${folderCommandsName}`;

/** Reads what the folder brings, and whether these bytes are trusted. @throws PawlError `bad_configuration` */
export function readFolderTrust(root: string, home: string): FolderTrust {
  const configuration = readConfiguration(root);
  const servers = readServersFile(join(root, folderServersName));
  const commands = readFolderCommands(root);
  const supplied: readonly UnjudgedFile[] = [
    ...(configuration === null ? [] : [toSettingsFile(configuration)]),
    ...(servers === null ? [] : [toServersFile(servers, root)]),
    ...commands.list.map(toCommandFile),
  ];
  const stored = supplied.length === 0 ? [] : readTrustedFiles(root, home);
  const files = supplied.map((file) => judgeFile(file, stored));
  const [first, ...others] = files.map(({ hash }) => hash);
  const hash = others.length === 0 ? (first ?? "") : sha256([first, ...others].join("\0"));
  return { files, configuration, servers, commands, hash };
}

/** The folder's settings alone, for those who look at them often. @throws PawlError `bad_configuration` */
export function readFolderSettings(
  root: string,
  home: string,
): { readonly configuration: ConfigurationFile | null; readonly isTrusted: boolean } {
  const configuration = readConfiguration(root);
  if (configuration === null) return { configuration, isTrusted: false };
  const { isTrusted } = judgeFile(toSettingsFile(configuration), readTrustedFiles(root, home));
  return { configuration, isTrusted };
}

type UnjudgedFile = Omit<SuppliedFile, "isTrusted" | "before">;

function toSettingsFile(file: ConfigurationFile): UnjudgedFile {
  const { path, text } = file;
  const hash = hashFileTrust(realpathSync(path), text);
  return { kind: "settings", name: configurationName, path, text, hash, effects: describeSettingsEffects(file) };
}

function toServersFile(file: ServersFile, root: string): UnjudgedFile {
  const { path, text } = file;
  const hash = hashFileTrust(realpathSync(path), text, hashStartedFiles(file, root));
  return { kind: "servers", name: folderServersName, path, text, hash, effects: describeServersEffects(file, root) };
}

function toCommandFile({ name, path, real, text }: CommandFile): UnjudgedFile {
  const effects = [`adds the command /${name}, which sends this text in your name`];
  return {
    kind: "command",
    name: `${folderCommandsName}/${name}.md`,
    path,
    text,
    hash: hashFileTrust(real, text),
    effects,
  };
}

function judgeFile(file: UnjudgedFile, stored: readonly TrustedFile[]): SuppliedFile {
  const trustedFile = stored.find(({ name }) => name === file.name);
  return { ...file, isTrusted: trustedFile?.hash === file.hash, before: trustedFile?.text ?? null };
}

/** Whether the file of this name counts whole. */
export function isTrusted({ files }: FolderTrust, name: string): boolean {
  return files.some((file) => file.name === name && file.isTrusted);
}

/** The files that would do something and are not trusted. */
export function listUntrustedFiles({ files }: FolderTrust): readonly SuppliedFile[] {
  return files.filter((file) => !file.isTrusted && file.effects.length > 0);
}

/** Trusts what was read of these files, and nothing that came later. Trust in other files stays as it is. */
export function trustFiles(root: string, home: string, files: readonly SuppliedFile[], by: string): void {
  if (files.length === 0)
    throw new PawlError("bad_configuration", `${root} brings nothing that has to be trusted: ${nothingToTrustText}.`);
  const names = new Set(files.map(({ name }) => name));
  const others = readTrustedFiles(root, home).filter(({ name }) => !names.has(name));
  const trusted = files.map(({ name, hash, text }): TrustedFile => ({ name, hash, text }));
  const stored: TrustRecord = { folder: root, files: [...others, ...trusted], by, at: new Date().toISOString() };
  const path = resolveTrustPath(root, home);
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

export function revokeTrust(root: string, home: string): void {
  rmSync(resolveTrustPath(root, home), { force: true });
}

function describeSettingsEffects({ value: { settings, permissions = {} } }: ConfigurationFile): readonly string[] {
  return [
    ...Object.entries(settings).map(([key, value]) => {
      const shown = typeof value === "string" ? value : JSON.stringify(value);
      return `${settingTable[key]?.effect ?? `sets ${key}`}: ${shown}`;
    }),
    ...(permissions.allow ?? []).map((stored) => {
      const note = findAllowedRuleNote(stored);
      return `allows without a question: ${stored.rule}${note === null ? "" : ` (${note})`}`;
    }),
  ];
}

function describeServersEffects({ servers }: ServersFile, root: string): readonly string[] {
  return servers.flatMap(({ name, transport, problem }) => {
    if (transport === null || problem !== undefined) return [];
    const shown = `the MCP server ${name}: ${formatServerTarget(transport)}`;
    if (transport.type === "http") return [`reaches ${shown}`];
    return [`starts ${shown}${canRunOtherFiles(transport, root) ? ", which may run other files of this folder" : ""}`];
  });
}

/** What the servers may run of the folder: the files that they name by their hashes, or the state of the whole folder. */
function hashStartedFiles({ servers }: ServersFile, root: string): readonly string[] {
  const started = servers.flatMap(({ transport }) => (transport?.type === "stdio" ? [transport] : []));
  const named = [...new Set(started.flatMap((server) => listNamedFiles(server, root)))].sort();
  return [
    ...named.map((path) => `${path}\0${hashFile(join(root, path))}`),
    ...(started.some((server) => canRunOtherFiles(server, root)) ? [hashFolderState(root)] : []),
  ];
}

function hashFileTrust(real: string, text: string, programs: readonly string[] = []): string {
  return sha256([real, text, ...programs].join("\0"));
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

function resolveTrustPath(root: string, home: string): string {
  return join(home, "projects", sha256(root).slice(0, 32), "trust.json");
}

/** What cannot be read is no trust. */
function readTrustedFiles(root: string, home: string): readonly TrustedFile[] {
  try {
    const stored = JSON.parse(readFileSync(resolveTrustPath(root, home), "utf8")) as Partial<TrustRecord> | null;
    if (stored?.folder !== root || !Array.isArray(stored.files)) return [];
    return stored.files.filter((file) => [file?.name, file?.hash, file?.text].every((one) => typeof one === "string"));
  } catch {
    return [];
  }
}

/** The lines that are only in one of the texts: `- ` those that are gone, `+ ` those that are new. */
export function diffLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const linesOnlyIn = (lines: readonly string[], others: readonly string[]) => {
    const left = new Map<string, number>();
    for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
    return lines.filter((line) => {
      const count = left.get(line) ?? 0;
      left.set(line, count - 1);
      return count <= 0;
    });
  };
  return [...linesOnlyIn(old, now).map((line) => `- ${line}`), ...linesOnlyIn(now, old).map((line) => `+ ${line}`)];
}
