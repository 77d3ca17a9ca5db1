/**
 * Prepares the process that a call of `shell` starts: in the sandbox, outside of it, or without one, with its environment.
 */
import type { ToolContext } from "../../ports/tool.js";
import { certificateVariables } from "../sandbox/environment.js";
import { readHostPattern } from "../sandbox/hosts.js";
import { type CommandSandbox, createNoSandbox, type HostTarget, type PreparedCommand } from "../sandbox/sandbox.js";
import { findShell } from "./shell-program.js";
import { pickTrustedPath, type ShellRequest } from "./shell-sandbox.js";

export type ShellInput = {
  /** The command line. */
  readonly command: string;
  /** The time limit, in milliseconds. */
  readonly timeoutMs?: number;
  /** Whether the command runs in the background. */
  readonly background?: boolean;
  /** Additional hosts that the command may reach. */
  readonly hosts?: readonly string[];
  /** Whether the command runs outside of the sandbox. */
  readonly outside?: boolean;
  /** Why the command must run outside, for the person who is asked. */
  readonly why?: string;
};

/** The settings of all commands of a tool. */
export type CommandSettings = {
  readonly root: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly sandbox: CommandSandbox;
  /** The path of the shell. */
  readonly shell: string;
  readonly requests?: readonly ShellRequest[] | undefined;
  readonly decideHost?: ((target: HostTarget, context: ToolContext) => "allow" | "deny" | undefined) | undefined;
};

const inheritedVariables = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"],
  ...certificateVariables,
];
/** Prevents commands from waiting for a person: an editor leaves the text unchanged, and a pager shows everything. */
const unattendedVariables = {
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  SYSTEMD_PAGER: "cat",
  AWS_PAGER: "cat",
  TERM: "dumb",
  GIT_TERMINAL_PROMPT: "0",
  DEBIAN_FRONTEND: "noninteractive",
} as const;

/** The variables that commands get from the person's environment, or that are set for them. */
export const reservedVariables: ReadonlySet<string> = new Set([
  ...inheritedVariables,
  ...Object.keys(unattendedVariables),
]);

/** @param onForbidden called if the command must be stopped */
export async function prepareCommand(
  { command, hosts = [], outside = false }: ShellInput,
  context: ToolContext,
  { root, sandbox, shell, decideHost, requests = [] }: CommandSettings,
  onForbidden: () => void,
): Promise<PreparedCommand> {
  if (hosts.length > 0 && !requests.includes("hosts")) throw new Error("Commands cannot request hosts here.");
  if (outside && !requests.includes("outside")) throw new Error("Commands cannot run outside of the sandbox here.");
  if (outside) {
    const trusted = findShell(pickTrustedPath(process.env.PATH, root)).path;
    return await createNoSandbox(null).prepare([trusted, "-c", command]);
  }
  for (const host of hosts) {
    const problem = readHostPattern(host);
    if (typeof problem === "string") throw new Error(`hosts has ${JSON.stringify(host)}: ${problem}.`);
  }
  return await sandbox.prepare([shell, "-c", command], {
    hosts,
    onForbidden,
    signal: context.signal,
    ...(decideHost === undefined ? {} : { decideHost: (target) => decideHost(target, context) }),
  });
}

export function createCommandEnvironment(
  prepared: PreparedCommand,
  { outside = false }: ShellInput,
  { root, env }: CommandSettings,
) {
  const base: { readonly [name: string]: string } = { ...inherited(), ...unattendedVariables, ...env };
  return outside ? { ...base, PATH: pickTrustedPath(base.PATH, root) } : prepared.environment(base);
}

/** A note if the command does not run in the sandbox. */
export function describeIsolation(
  { outside = false }: ShellInput,
  { kind, reason }: CommandSandbox,
): readonly string[] {
  if (outside) return ["outside of the sandbox"];
  return kind === "none" ? [reason === null ? "not sandboxed" : `not sandboxed: ${reason}`] : [];
}

function inherited(): Record<string, string> {
  const values = inheritedVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
