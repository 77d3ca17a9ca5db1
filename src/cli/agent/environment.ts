/**
 * The environment of a session: one line in the system prompt, and messages about what has changed since.
 *
 * 1. The line says what was true when the session began. It never changes, so that the provider can read the prompt from
 *    its cache. It is the text of a context source, which the log keeps for later runs, other processes and forks.
 * 2. A new branch or a new day is also a source text: the model sees it once, in a message after the request. Replays take both
 *    from the log.
 * 3. A session that began without the line never gets one.
 * 4. No text contains the time of day, which would differ in every run.
 */
import { arch, type } from "node:os";
import type { ContextSource, SourceText } from "../../index.js";
import { type GitState, readGitState } from "../permissions/inspect-git-folder.js";

const names = { line: "environment", branch: "branch", date: "date" } as const;

/**
 * @param root the real path of the folder
 * @param shell the name of the shell that runs commands; undefined if the agent has none
 */
export function createEnvironment(root: string, shell: string | undefined): ContextSource {
  // The branch name comes from the project.
  const toText = (name: string, text: string): SourceText => ({ name, path: root, text, trust: "project" });
  return {
    name: names.line,
    async load(_, { signal, earlier }) {
      const line = earlier?.find(({ name }) => name === names.line);
      if (earlier !== undefined && line === undefined) return [];
      const git = await readGitState(root, { countChanges: line === undefined, signal });
      const today = formatDay(new Date());
      if (line === undefined) return [toText(names.line, formatLine(today, shell, git))];
      const start = parseLine(line.text);
      // If Git cannot be read, the last branch that it reported still applies.
      const lastBranch = earlier?.find(({ name }) => name === names.branch);
      const branch = git === null ? lastBranch : toText(names.branch, formatBranch(git));
      return [
        line,
        ...(today === start.day ? [] : [toText(names.date, today)]),
        ...(branch === undefined || branch.text === start.branch ? [] : [branch]),
      ];
    },
  };
}

/** `2026-11-28, Linux x64, bash; git: main, 3 files changed when the session began` */
function formatLine(day: string, shell: string | undefined, git: GitState | null): string {
  const system = `${type() === "Darwin" ? "macOS" : type()} ${arch()}`;
  const machine = [day, system, ...(shell === undefined ? [] : [shell])].join(", ");
  return git === null ? machine : `${machine}; git: ${formatBranch(git)}${formatChanged(git)} when the session began`;
}

function formatBranch({ branch }: GitState): string {
  return branch === "" ? "no branch checked out" : branch;
}

function formatChanged({ changed }: GitState): string {
  if (changed === undefined) return "";
  return changed === 1 ? ", 1 file changed" : `, ${changed} files changed`;
}

/** The inverse of `formatLine`. Branch names contain no spaces. A field that is not in the line is undefined. */
function parseLine(line: string): { readonly day: string | undefined; readonly branch: string | undefined } {
  const found = /^([\d-]+)[^;]*(?:; git: (.+?)(?:, \d+ files? changed)? when the session began)?$/.exec(line);
  return { day: found?.[1], branch: found?.[2] };
}

/** The day in the process's time zone: `2026-11-28`. */
function formatDay(date: Date): string {
  const twoDigits = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}
