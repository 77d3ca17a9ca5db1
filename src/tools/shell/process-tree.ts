/**
 * Finds the processes that a command has started, including those that have left its process group.
 *
 * 1. The environment of a command contains a unique variable, which every process that it starts inherits. Linux shows the
 *    environment of processes of the same user. So a process is found even if it has its own session (`setsid`), and even if its
 *    parent has ended.
 * 2. A process that clears its environment is found as long as it is in the command's session, or its parent is found.
 * 3. A process that does all three (clears its environment, starts a new session, and loses its parent) is not found. Only a
 *    sandbox contains it. Without `/proc`, only the group is found.
 */
import { readdir, readFile } from "node:fs/promises";

/** The variable that marks the processes of a command. */
export const markVariable = "PAWL_COMMAND";

export type CommandProcess = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly isMarked: boolean;
  /** The name of the program, at most 15 characters. */
  readonly name: string;
};

/** The processes of a command that are still alive. `leader` is the pid of its first process. */
export async function findProcesses(leader: number, mark: string): Promise<readonly CommandProcess[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const processes = (await Promise.all(pids.map((pid) => readProcess(pid, mark)))).filter((one) => one !== null);
  const foundPids = new Set(processes.filter((one) => one.isMarked || one.session === leader).map(({ pid }) => pid));
  for (let previousSize = 0; previousSize < foundPids.size; ) {
    previousSize = foundPids.size;
    for (const { pid, parent } of processes) if (foundPids.has(parent)) foundPids.add(pid);
  }
  return processes.filter(({ pid }) => foundPids.has(pid));
}

/** Null for a process that has ended, or that belongs to another user. */
async function readProcess(pid: number, mark: string): Promise<CommandProcess | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    // The program's name is in parentheses, and may contain any character.
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    const [state, parent, group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return null;
    const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
    const isMarked = environment.split("\0").includes(`${markVariable}=${mark}`);
    return { pid, parent: Number(parent), group: Number(group), session: Number(session), isMarked, name };
  } catch {
    return null;
  }
}
