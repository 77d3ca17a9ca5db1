/**
 * Runs a program in its own Node process.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

export type ProgramEnd = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type Program = { readonly kill: () => void; readonly ended: Promise<ProgramEnd> };

export type ProgramOptions = {
  /** The working directory. */
  readonly folder: string;
  readonly arguments: readonly string[];
  readonly env: { readonly [name: string]: string };
};

export function startProgram({ folder, arguments: args, env }: ProgramOptions): Program {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]): ProgramEnd => ({ code, signal, stdout, stderr }));
  return { kill: () => void child.kill("SIGKILL"), ended };
}
