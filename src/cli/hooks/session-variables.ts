/**
 * The variables that SessionStart hooks set for the commands of their session: lines `export NAME=VALUE` that a hook appends to the file
 * that `CLAUDE_ENV_FILE` names.
 *
 * 1. The file is parsed, not run. A value is literal text: nothing in it is expanded.
 * 2. A variable that changes which programs run is refused, as are those that Pawl sets. Otherwise a permission rule for a command would
 *    not cover the program that runs.
 * 3. The variables stay in this process, because values can be secrets. Another process calls the hook again: before its first run of
 *    the session, or before the first command of a run that it continues.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HookContext } from "../../index.js";
import { reservedVariables } from "../../tools/shell/shell-command.js";
import { readSmallText } from "../files/small-file.js";
import { changesPrograms } from "../permissions/variables.js";

export type Variables = { readonly [name: string]: string };

export type SessionVariables = {
  /**
   * Calls `run` with the path of an empty file, and keeps the variables that are then in the file.
   * @throws Error that names the lines that were refused; the other variables are kept
   */
  readonly collect: <Result>(sessionId: string, run: (path: string) => Promise<Result>) => Promise<Result>;
  /** Adds a function that `load` awaits. It calls a hook that this process has not called for the session. */
  readonly onLoad: (callHook: (session: StartedSession) => Promise<unknown>) => void;
  /**
   * The variables of the session of a command; undefined if there are none. A run that another process began has called the hooks there, so they are called here before
   * its first command. The hook reports a failure at the session's next run.
   */
  readonly load: (session: StartedSession) => Promise<Variables | undefined>;
};

export type StartedSession = Pick<HookContext, "sessionId" | "data" | "signal">;

const maxBytes = 16 * 1024;
const maxVariables = 50;
/**
 * The maximum number of sessions whose variables are kept. As many are remembered as started (create-hooks.ts), and the hook of a started
 * session is not called again: with fewer, its commands would lose their variables.
 */
const maxSessions = 10_000;

export function createSessionVariables(): SessionVariables {
  const bySession = new Map<string, Variables>();
  const callHooks: ((session: StartedSession) => Promise<unknown>)[] = [];

  function keep(sessionId: string, added: Variables): void {
    const variables = { ...bySession.get(sessionId), ...added };
    if (Object.keys(variables).length > maxVariables)
      throw new Error(`the hooks of the session set more than ${maxVariables} variables in CLAUDE_ENV_FILE`);
    const [oldest] = bySession.keys();
    if (!bySession.has(sessionId) && bySession.size >= maxSessions && oldest !== undefined) bySession.delete(oldest);
    bySession.set(sessionId, variables);
  }

  return {
    async collect(sessionId, run) {
      // Only the person can enter the folder.
      const folder = mkdtempSync(join(tmpdir(), "pawl-env-"));
      try {
        const path = join(folder, "env");
        writeFileSync(path, "", { mode: 0o600 });
        const result = await run(path);
        const createError = (why: string) => new Error(`its CLAUDE_ENV_FILE cannot be used: ${why}`);
        const { variables, refused } = parseVariables(readSmallText(path, maxBytes, createError) ?? "");
        if (Object.keys(variables).length > 0) keep(sessionId, variables);
        if (refused.length > 0) throw new Error(describeRefused(refused));
        return result;
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    onLoad: (callHook) => void callHooks.push(callHook),
    async load(session) {
      for (const callHook of callHooks) await callHook(session).catch(() => {});
      return bySession.get(session.sessionId);
    },
  };
}

/** `what`: the name of the variable, or the number of the line. The error is in the log, and the rest of the line may be a secret. */
type Refused = { readonly what: string; readonly why: string };

function parseVariables(text: string): { readonly variables: Variables; readonly refused: readonly Refused[] } {
  const variables: Record<string, string> = {};
  const refused: Refused[] = [];
  for (const [index, written] of text.split(/\r?\n/).entries()) {
    const line = written.trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, name = "", quoted = ""] = /^(?:(?:export|declare -x)\s+)?([A-Za-z_]\w{0,99})=(.*)$/s.exec(line) ?? [];
    const value = parseValue(quoted);
    if (name === "") refused.push({ what: `line ${index + 1}`, why: "is not NAME=VALUE" });
    else if (value === null) refused.push({ what: name, why: "is not literal text" });
    else if (isReserved(name)) refused.push({ what: name, why: "is reserved, or changes which programs run" });
    else variables[name] = value;
  }
  return { variables, refused };
}

/** The literal text of a shell word; null if the shell would expand it. */
function parseValue(word: string): string | null {
  if (word.includes("\0")) return null;
  const [, single] = /^'([^']*)'$/.exec(word) ?? [];
  if (single !== undefined) return single;
  const [, double] = /^"((?:[^"\\$`]|\\.)*)"$/.exec(word) ?? [];
  if (double !== undefined) return double.replace(/\\(["\\$`])/g, "$1");
  return /^[^\s'"\\$`;&|<>()*?[\]{}~!#]*$/.test(word) ? word : null;
}

function isReserved(name: string): boolean {
  return reservedVariables.has(name) || changesPrograms(name) || /^(?:PAWL|CLAUDE)_/i.test(name);
}

const maxListed = 5;

function describeRefused(refused: readonly Refused[]): string {
  const listed = refused.slice(0, maxListed).map(({ what, why }) => `${what} ${why}`);
  const more = refused.length - listed.length;
  return `lines of its CLAUDE_ENV_FILE were refused: ${listed.join("; ")}${more === 0 ? "" : `; ${more} more`}`;
}
