/**
 * Trust in the files that a folder supplies: its `pawl.config.json`, its `.mcp.json`, its `.pawl/hooks.json`, the commands in
 * `.pawl/commands`, and the agents in `.pawl/agents` and `.claude/agents`. Before a person has trusted a file, nothing in it sets,
 * allows, starts or sends anything. Its rules that ask or deny apply at once, because they only make the agent more careful (SEC-17).
 *
 * 1. Trust is in the bytes of a file, at its real path, in this folder, and in the files of the folder that its servers and hooks may
 *    run (started-files.ts). Any change revokes the trust, in that file alone.
 * 2. Trust is stored in the home, outside of the folder. No option, environment variable or parent folder grants it.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { PawlError } from "../../index.js";
import { detectSandbox } from "../../tools/index.js";
import {
  type AgentFile,
  type AgentFiles,
  describeAgentEffects,
  folderAgentsNames,
  readFolderAgents,
} from "../child-agents/agent-file.js";
import {
  type CommandFile,
  type CommandFiles,
  folderCommandsName,
  readFolderCommands,
} from "../configuration/command-files.js";
import { type ConfigurationFile, configurationName, readConfiguration } from "../configuration/configuration.js";
import { settingTable } from "../configuration/setting-table.js";
import { describeHooksEffects, folderHooksName, type HooksFile, readFolderHooks } from "../hooks/hooks-file.js";
import { folderServersName, formatServerTarget, readServersFile, type ServersFile } from "../mcp/servers-file.js";
import { findAllowedRuleNote } from "../permissions/rule-note.js";
import { type HookScript, readHookScripts } from "./hook-scripts.js";
import { canRunOtherFiles, hashFile, hashFolderState, listNamedFiles } from "./started-files.js";

/** A file that the folder supplies. */
export type SuppliedFile = {
  readonly kind: "settings" | "servers" | "hooks" | "command" | "agent";
  /** Its path in the folder. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly hash: string;
  readonly isTrusted: boolean;
  /** Whether the programs that it starts run in the sandbox, as the person chose. A server that asks for a sandbox always does. */
  readonly inSandbox: boolean;
  /** Whether it starts MCP servers that do not ask for a sandbox themselves. Absent: it does not. */
  readonly startsPrograms?: boolean;
  /** The text that was trusted before the file changed; null if it was never trusted. */
  readonly before: string | null;
  /** The scripts of the folder that its hooks run. Absent: it has none. */
  readonly scripts?: readonly HookScript[];
  /** The scripts as they were when the file was trusted; empty if it never was. */
  readonly scriptsBefore: readonly HookScript[];
  /** Describes the effects of trusting the file. */
  readonly effects: readonly string[];
};

export type FolderTrust = {
  /** The supplied files: settings, servers, hooks, commands, agents. */
  readonly files: readonly SuppliedFile[];
  readonly configuration: ConfigurationFile | null;
  readonly servers: ServersFile | null;
  readonly hooks: HooksFile | null;
  readonly commands: CommandFiles;
  readonly agents: AgentFiles;
  /** The hash of all files, for `pawl trust --hash`. Empty without a file. */
  readonly hash: string;
};

type TrustedFile = {
  readonly name: string;
  readonly hash: string;
  readonly text: string;
  /** Whether the programs that it starts run in the sandbox. */
  readonly inSandbox?: boolean;
  readonly scripts?: readonly HookScript[];
};
type TrustRecord = {
  readonly folder: string;
  readonly files: readonly TrustedFile[];
  readonly by: string;
  readonly at: string;
};

/** Describes a folder that needs no trust. */
export const nothingToTrustText = `no ${configurationName}, no ${folderServersName}, no ${folderHooksName}, no commands in ${folderCommandsName} and no agents in ${folderAgentsNames.join(" or ")}`;

/** Reads the supplied files, and whether these bytes are trusted. @throws PawlError `bad_configuration` */
export function readFolderTrust(root: string, home: string): FolderTrust {
  const configuration = readConfiguration(root);
  const servers = readServersFile(join(root, folderServersName));
  const hooks = readFolderHooks(root);
  const commands = readFolderCommands(root);
  const agents = readFolderAgents(root);
  const supplied: readonly UnjudgedFile[] = [
    ...(configuration === null ? [] : [toSettingsFile(configuration)]),
    ...(servers === null ? [] : [toServersFile(servers, root)]),
    ...(hooks === null ? [] : [toHooksFile(hooks, root)]),
    ...commands.list.map(toCommandFile),
    ...agents.list.map((file) => toAgentFile(file, root)),
  ];
  const stored = supplied.length === 0 ? [] : readTrustedFiles(root, home);
  const files = supplied.map((file) => judgeFile(file, stored));
  const [first, ...others] = files.map(({ hash }) => hash);
  const hash = others.length === 0 ? (first ?? "") : sha256([first, ...others].join("\0"));
  return { files, configuration, servers, hooks, commands, agents, hash };
}

/** Reads only the folder's settings, for frequent callers. @throws PawlError `bad_configuration` */
export function readFolderSettings(
  root: string,
  home: string,
): { readonly configuration: ConfigurationFile | null; readonly isTrusted: boolean } {
  const configuration = readConfiguration(root);
  if (configuration === null) return { configuration, isTrusted: false };
  const { isTrusted } = judgeFile(toSettingsFile(configuration), readTrustedFiles(root, home));
  return { configuration, isTrusted };
}

type UnjudgedFile = Omit<SuppliedFile, "isTrusted" | "inSandbox" | "before" | "scriptsBefore">;

function toSettingsFile(file: ConfigurationFile): UnjudgedFile {
  const { path, text } = file;
  const hash = hashFileTrust(realpathSync(path), text);
  const effects = describeSettingsEffects(file);
  return { kind: "settings", name: configurationName, path, text, hash, effects };
}

function toServersFile(file: ServersFile, root: string): UnjudgedFile {
  const { path, text } = file;
  const hash = hashFileTrust(realpathSync(path), text, hashStartedFiles(file, root));
  const effects = describeServersEffects(file, root);
  const startsPrograms = file.servers.some(
    ({ transport, sandbox, problem }) => transport?.type === "stdio" && sandbox === null && problem === undefined,
  );
  return { kind: "servers", name: folderServersName, path, text, hash, effects, startsPrograms };
}

function toHooksFile(file: HooksFile, root: string): UnjudgedFile {
  const { path, real, text } = file;
  const scripts = readHookScripts(file, root);
  const hash = hashFileTrust(
    real,
    text,
    scripts.map((script) => `${script.path}\0${script.hash}`),
  );
  return {
    kind: "hooks",
    name: folderHooksName,
    path,
    text,
    hash,
    scripts,
    effects: describeHooksEffects(file),
  };
}

/**
 * The hash by which the folder's hooks are trusted, as the files are now; null if there are none. It is compared before each run of
 * a hook, because a tool may have changed a script meanwhile.
 * @throws PawlError `bad_configuration`
 */
export function readHooksHash(root: string): string | null {
  const hooks = readFolderHooks(root);
  return hooks === null ? null : toHooksFile(hooks, root).hash;
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

function toAgentFile(file: AgentFile, root: string): UnjudgedFile {
  const { path, real, text } = file;
  const name = relative(root, path);
  const effects = describeAgentEffects(file);
  return { kind: "agent", name, path, text, hash: hashFileTrust(real, text), effects };
}

function judgeFile(file: UnjudgedFile, stored: readonly TrustedFile[]): SuppliedFile {
  const trustedFile = stored.find(({ name }) => name === file.name);
  const isTrusted = trustedFile?.hash === file.hash;
  const inSandbox = isTrusted && trustedFile.inSandbox === true;
  const { text: before = null, scripts: scriptsBefore = [] } = trustedFile ?? {};
  return { ...file, isTrusted, inSandbox, before, scriptsBefore };
}

/** Whether the file with this name is trusted. */
export function isTrusted({ files }: FolderTrust, name: string): boolean {
  return files.some((file) => file.name === name && file.isTrusted);
}

/** Whether the person can choose to run the MCP servers of a file in the sandbox. */
export function canSandboxServers({ startsPrograms }: SuppliedFile): boolean {
  return startsPrograms === true && detectSandbox() !== "none";
}

/** The files that have effects and are not trusted. */
export function listUntrustedFiles({ files }: FolderTrust): readonly SuppliedFile[] {
  return files.filter((file) => !file.isTrusted && file.effects.length > 0);
}

/**
 * Trusts the content of these files as it was read, not later content. Trust in other files is unchanged.
 *
 * @param inSandbox whether the MCP servers that they name run in the sandbox
 */
export function trustFiles(
  root: string,
  home: string,
  files: readonly SuppliedFile[],
  by: string,
  inSandbox = false,
): void {
  if (files.length === 0)
    throw new PawlError("bad_configuration", `${root} has nothing to trust: ${nothingToTrustText}.`);
  const names = new Set(files.map(({ name }) => name));
  const others = readTrustedFiles(root, home).filter(({ name }) => !names.has(name));
  const trusted = files.map(
    ({ kind, name, hash, text, scripts }): TrustedFile => ({
      name,
      hash,
      text,
      ...(scripts === undefined ? {} : { scripts }),
      ...(inSandbox && kind === "servers" ? { inSandbox } : {}),
    }),
  );
  const record: TrustRecord = { folder: root, files: [...others, ...trusted], by, at: new Date().toISOString() };
  const path = resolveTrustPath(root, home);
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
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
    ...(permissions.allow ?? []).map((storedRule) => {
      const note = findAllowedRuleNote(storedRule);
      return `allows without a question: ${storedRule.rule}${note === null ? "" : ` (${note})`}`;
    }),
  ];
}

function describeServersEffects({ servers }: ServersFile, root: string): readonly string[] {
  return servers.flatMap(({ name, transport, sandbox, problem }) => {
    if (transport === null || problem !== undefined) return [];
    const shown = `the MCP server ${name}: ${formatServerTarget(transport, sandbox)}`;
    if (transport.type === "http") return [`reaches ${shown}`];
    return [`starts ${shown}${canRunOtherFiles(transport, root) ? ", which may run other files of this folder" : ""}`];
  });
}

/** Hashes of what the servers may run: of the files that they name, and of the whole folder's state if they may run others. */
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

/** Reads the trusted files. If the record cannot be read, nothing is trusted. */
function readTrustedFiles(root: string, home: string): readonly TrustedFile[] {
  try {
    const record = JSON.parse(readFileSync(resolveTrustPath(root, home), "utf8")) as Partial<TrustRecord> | null;
    if (record?.folder !== root || !Array.isArray(record.files)) return [];
    return record.files.filter((file) => [file?.name, file?.hash, file?.text].every((one) => typeof one === "string"));
  } catch {
    return [];
  }
}

/** The lines that are only in one of the texts: `- ` for removed lines, `+ ` for new ones. */
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
