/**
 * `pawl run --background`: runs the task in a separate process, and prints how to find, follow and stop it.
 */
import { randomUUID } from "node:crypto";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { startInBackground } from "../run/start-in-background.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { findSessionToContinue, type RunCommandOptions } from "./run.js";

export async function runInBackground(options: RunCommandOptions, terminal: Terminal): Promise<number> {
  const home = resolveHome(process.env);
  const store = await openStore(home, { creates: true });
  try {
    const existing = await findSessionToContinue(store, options, resolveFolder(options.root ?? "."));
    const sessionId = existing?.sessionId ?? options.session ?? randomUUID();
    const words = toBackgroundWords(process.argv.slice(2), sessionId);
    const started = await startInBackground({ store, home, sessionId, after: existing?.seq ?? 0, words });
    if (started.type === "ended") {
      terminal.err(started.written);
      return started.code === exitCodes.done ? exitCodes.failed : (started.code ?? exitCodes.failed);
    }
    const { pid, log } = started;
    if (options.json === true) terminal.json({ sessionId, pid, log });
    else {
      const id = sanitize(shortId(sessionId));
      terminal.out(`${id}\n`);
      terminal.hint(
        `Running in process ${pid}, and it keeps running when you close this terminal. Output: ${sanitize(log)}\nTo list: pawl agents. To follow: pawl agents attach ${id}. To stop: pawl agents stop ${id}\n`,
      );
    }
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

/**
 * The arguments of the background process: those of this process plus the session, without options that must not be repeated.
 * Questions wait, because there is no one to ask.
 */
export function toBackgroundWords(words: readonly string[], sessionId: string): readonly string[] {
  const end = words.indexOf("--");
  const [options, others] = end === -1 ? [words, []] : [words.slice(0, end), words.slice(end)];
  const [command = "run", ...rest] = options;
  const kept = rest.flatMap((word) => {
    if (word === "--background" || word === "--continue") return [];
    // Short options can share a word, and be repeated in it.
    if (/^-[cy]+$/.test(word)) return word.includes("y") ? ["-y"] : [];
    return [word];
  });
  return [command, ...kept, "--session", sessionId, "--park", ...others];
}
