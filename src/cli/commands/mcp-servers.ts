/**
 * `pawl mcp add`, `list`, `test` and `remove`: the MCP servers whose tools the agent has.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Json, parseJson } from "../../core/index.js";
import { PawlError } from "../../index.js";
import { stripComments } from "../configuration/strip-comments.js";
import { exitCodes } from "../exit.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { resolveHome } from "../files/store-location.js";
import { formatServer, toServerRecord } from "../mcp/format-server.js";
import { isLoggedIn } from "../mcp/logins.js";
import { findServer, type ResolvedServer, resolveServers } from "../mcp/resolve-servers.js";
import {
  folderServersName,
  formatServerTarget,
  isServerName,
  readServersFile,
  userServersName,
} from "../mcp/servers-file.js";
import { connectServer, explainFailure, formatVersionRule } from "../mcp/start-servers.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize, toOneLine } from "../terminal/text.js";

export type McpServersOptions = { readonly root?: string; readonly json?: true };
export type McpFileOptions = McpServersOptions & { readonly folder?: true };
export type McpAddOptions = McpFileOptions & {
  /** Each is `NAME=VALUE`. */
  readonly env?: readonly string[];
  readonly header?: readonly string[];
};

export function resolveFolders({ root = "." }: McpServersOptions) {
  return { root: resolveFolder(root), home: resolveHome(process.env) };
}

function resolveFile({ folder, root = "." }: McpFileOptions): string {
  return folder === true
    ? join(resolveFolder(root), folderServersName)
    : join(resolveUserConfigurationFolder(process.env), userServersName);
}

/** @param words the command with its arguments, or an address */
export function add(name: string, words: readonly string[], options: McpAddOptions, terminal: Terminal): number {
  if (!isServerName(name))
    throw new PawlError(
      "bad_input",
      `An MCP server cannot be named ${JSON.stringify(name)}. Use 1 to 32 letters, digits, "-" and single "_".`,
    );
  const path = resolveFile(options);
  const entry = toServerEntry(words, options);
  updateServersFile(path, name, (servers) => {
    if (!Object.hasOwn(servers, name)) return { ...servers, [name]: entry };
    throw new PawlError("bad_input", `${path} already has a server ${name}. Remove it first: pawl mcp remove ${name}`);
  });
  const next =
    options.folder === true
      ? `Everyone who works on this folder is asked to trust it. Review and trust it: pawl trust`
      : `Try it: pawl mcp test ${name}`;
  if (options.json === true) terminal.json({ name, path });
  else terminal.out(`${sanitize(`Added ${name} to ${path}.`)}\n${next}\n`);
  return exitCodes.done;
}

function toServerEntry(
  words: readonly string[],
  { env = [], header = [] }: McpAddOptions,
): { readonly [key: string]: Json } {
  const [first = "", ...args] = words;
  if (/^https?:\/\//i.test(first)) {
    if (args.length > 0) throw new PawlError("bad_input", "An address takes no arguments. Leave them out.");
    if (env.length > 0)
      throw new PawlError("bad_input", "--env is for programs. A server at an address takes --header.");
    return { type: "http", url: first, ...(header.length === 0 ? {} : { headers: parsePairs(header, "--header") }) };
  }
  if (header.length > 0) throw new PawlError("bad_input", "--header is for addresses. A program takes --env.");
  return { command: first, args, ...(env.length === 0 ? {} : { env: parsePairs(env, "--env") }) };
}

function parsePairs(pairs: readonly string[], option: string): { readonly [name: string]: string } {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
      if (name !== undefined && value !== undefined) return [name, value];
      throw new PawlError("bad_input", `${option} takes NAME=VALUE, for example ${option} 'TOKEN=$\{DOCS_TOKEN}'.`);
    }),
  );
}

export function remove(name: string, options: McpFileOptions, terminal: Terminal): number {
  const path = resolveFile(options);
  updateServersFile(path, name, (servers) => {
    const { [name]: removed, ...others } = servers;
    if (removed !== undefined) return others;
    const where =
      options.folder === true ? "" : ` To remove it from the folder's file: pawl mcp remove --folder ${name}`;
    throw new PawlError("bad_input", `${path} has no server ${name}.${where}`);
  });
  if (options.json === true) terminal.json({ name, path });
  else terminal.out(`${sanitize(`Removed ${name} from ${path}.`)}\n`);
  return exitCodes.done;
}

type Servers = { readonly [name: string]: Json };

/** Rewrites the file. Everything else in it is preserved, except comments. */
function updateServersFile(path: string, name: string, update: (servers: Servers) => Servers): void {
  const file = readServersFile(path);
  const parsed = parseJson(stripComments(file?.text ?? "{}"));
  const members = (parsed.ok ? parsed.value : {}) as { readonly [key: string]: Json };
  const text = JSON.stringify({ ...members, mcpServers: update((members.mcpServers ?? {}) as Servers) }, null, 2);
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.new`;
  // Variables may be secrets.
  writeFileSync(draft, `${text}\n`, { mode: 0o600 });
  renameSync(draft, path);
  const written = readServersFile(path)?.servers.find((server) => server.name === name);
  if (written === undefined || written.transport !== null) return;
  if (file === null) writeFileSync(path, '{ "mcpServers": {} }\n');
  else writeFileSync(path, file.text);
  throw new PawlError("bad_input", `The MCP server ${name} cannot be used: ${written.problem}.`);
}

export async function list(options: McpServersOptions, terminal: Terminal): Promise<number> {
  const servers = resolveServers(resolveFolders(options));
  if (servers.length === 0 && options.json !== true)
    terminal.out("There are no MCP servers. Add one: pawl mcp add NAME -- COMMAND\n");
  for (const one of servers) {
    const hasLogin = one.transport !== null && (await isLoggedIn(one.transport));
    if (options.json === true) terminal.json({ ...toServerRecord(one), ...(hasLogin ? { loggedIn: true } : {}) });
    else terminal.out(`${sanitize(`${formatServer(one).replace(/^mcp {2}/, "")}${hasLogin ? "  logged in" : ""}`)}\n`);
  }
  return exitCodes.done;
}

/** Starts the server, lists its tools, and stops it. */
export async function test(name: string, options: McpServersOptions, terminal: Terminal): Promise<number> {
  const folders = resolveFolders(options);
  const found = requireServer(name, resolveServers(folders));
  const { transport, sandbox, off } = found;
  if (transport === null || off !== null)
    throw new PawlError(
      "bad_configuration",
      `The MCP server ${name} is not started: ${off}. It is configured in ${found.path}.`,
    );
  const target = sanitize(formatServerTarget(transport, sandbox));
  terminal.status(`… ${target}`);
  try {
    const { server, close } = await connectServer({ name, transport, sandbox }, folders.root);
    terminal.status(null);
    const tools = server.tools.map((tool) => ({
      name: tool.name.slice(name.length + 1),
      description: tool.description ?? "",
      rule: formatVersionRule(server, tool.name),
    }));
    if (options.json === true) terminal.json({ name, ok: true, tools, problems: server.problems });
    else {
      terminal.out(`${sanitize(`${name} works: ${formatCount(tools.length, "tool")}.`)}\n`);
      for (const tool of tools)
        terminal.out(`  ${sanitize(`${tool.name}  ${toOneLine(tool.description).slice(0, 100)}`)}\n`);
      for (const problem of server.problems) terminal.out(`✗ ${sanitize(problem)}\n`);
    }
    await close();
    return exitCodes.done;
  } catch (error) {
    terminal.status(null);
    const reason = terminal.redaction.text(explainFailure(error, name, transport));
    if (options.json === true) terminal.json({ name, ok: false, error: reason });
    else terminal.err(`✗ ${sanitize(reason)}\n  It runs: ${target}\n  From ${sanitize(found.path)}\n`);
    return exitCodes.failed;
  }
}

export function requireServer(name: string, servers: readonly ResolvedServer[]): ResolvedServer {
  const found = findServer(name, servers);
  if (found !== undefined) return found;
  const names = servers.map((server) => server.name).join(", ");
  throw new PawlError(
    "bad_input",
    `There is no MCP server ${name}.${names === "" ? "" : ` Known servers: ${names}.`} To add one: pawl mcp add ${name} -- COMMAND`,
  );
}
