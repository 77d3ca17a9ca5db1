/**
 * The processes of this machine that belong to a test.
 */
import { readdirSync, readFileSync } from "node:fs";

/** The ids of the processes that have a word in their environment or arguments. Those that have ended do not count. */
export function findProcessesWith(word: string): readonly string[] {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        const about = ["environ", "cmdline"].map((name) => readFileSync(`/proc/${pid}/${name}`, "latin1"));
        return about.some((text) => text.includes(word)) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
      } catch {
        return false;
      }
    });
}
