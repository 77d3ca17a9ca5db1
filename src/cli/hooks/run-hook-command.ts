/**
 * Runs the command of a hook: as the person, in the folder, and outside of the sandbox, with a bound on its time and output.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../../index.js";
import { runProcess } from "../../tools/shell/run-process.js";
import { findShell } from "../../tools/shell/shell-program.js";
import type { ConfiguredHook } from "./hooks-file.js";

/** The exit code and the outputs of a command that ended by itself. */
export type CommandEnd = { readonly code: number; readonly stdout: string; readonly stderr: string };

const maxOutputBytes = 256 * 1024;
const killGraceMs = 1_000;

/** The time after a command's timeout to kill it and to read its remaining output; milliseconds. */
export const afterTimeoutMs = killGraceMs + 5_000;

export type HookCommandOptions = {
  readonly root: string;
  readonly signal: AbortSignal;
  /** Variables that the command gets in addition to its environment. */
  readonly variables?: Readonly<Record<string, string>>;
};

/**
 * @param input what the command reads as JSON from its standard input
 * @throws Error that says why it has failed: it took too long, wrote too much, was killed or could not be started
 */
export async function runHookCommand(
  { command, timeoutMs, env }: Pick<ConfiguredHook, "command" | "timeoutMs" | "env">,
  input: { readonly [field: string]: Json },
  { root, signal, variables = {} }: HookCommandOptions,
): Promise<CommandEnd> {
  const [stdout, stderr] = [createBoundedOutput(), createBoundedOutput()];
  const inputFile = openInputFile(`${JSON.stringify(input)}\n`);
  try {
    const { ended } = await runProcess([findShell().path, "-c", command], {
      cwd: root,
      env: { ...createHookEnvironment(env, root), ...variables },
      signal: AbortSignal.any([signal, stdout.overflow, stderr.overflow]),
      timeoutMs,
      killGraceMs,
      output: stdout,
      errorOutput: stderr,
      inputFile,
    });
    if (stdout.overflow.aborted || stderr.overflow.aborted)
      throw new Error(`it wrote more than ${maxOutputBytes / 1024} KiB, and was killed`);
    switch (ended.how) {
      case "exited":
        return { code: ended.code, stdout: stdout.text(), stderr: stderr.text() };
      case "timed_out":
        throw new Error(`it took longer than ${timeoutMs / 1_000} s, and was killed`);
      case "killed":
        throw new Error(`it was killed by ${ended.signal}`);
      case "aborted":
        throw new Error("it was stopped with the run");
    }
  } finally {
    closeSync(inputFile);
  }
}

/** An unlinked file, which commands can also open as `/dev/stdin`, unlike a socket. */
function openInputFile(text: string): number {
  const folder = mkdtempSync(join(tmpdir(), "pawl-hook-"));
  try {
    const path = join(folder, "input");
    writeFileSync(path, text, { mode: 0o600 });
    return openSync(path, "r");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function createBoundedOutput() {
  const pieces: Uint8Array[] = [];
  const overflow = new AbortController();
  let bytes = 0;
  return {
    add(piece: Uint8Array) {
      bytes += piece.length;
      if (bytes > maxOutputBytes) overflow.abort();
      else pieces.push(Buffer.from(piece));
    },
    text: () => Buffer.concat(pieces).toString("utf8"),
    overflow: overflow.signal,
  };
}

/** Keys of models and services are not passed to commands that do not name them. */
const secretName = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;

function createHookEnvironment(named: readonly string[], root: string): Readonly<Record<string, string>> {
  const passed = Object.entries(process.env).filter(([name]) => !secretName.test(name) || named.includes(name));
  const environment: Record<string, string> = { CLAUDE_PROJECT_DIR: root, PAWL_PROJECT_DIR: root };
  for (const [name, value] of passed) if (value !== undefined) environment[name] ??= value;
  return environment;
}
