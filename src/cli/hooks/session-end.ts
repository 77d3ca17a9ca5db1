/**
 * SessionEnd hooks: commands that run when a program of the command line leaves a session.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import type { Store } from "../../index.js";
import { checkHookTrust } from "./create-hooks.js";
import { readHookAnswer } from "./hook-answer.js";
import { formatHookName, type ResolvedHook } from "./resolve-hooks.js";
import { runHookCommand } from "./run-hook-command.js";
import { withTranscript } from "./transcript-file.js";

/** `clear`: another session follows. `prompt_input_exit`: the person leaves the conversation. */
export type SessionEndReason = "clear" | "prompt_input_exit" | "other";

export type SessionEnd = {
  readonly store: Store;
  readonly root: string;
  readonly sessionId: string;
  readonly reason: SessionEndReason;
};

/** Runs nothing for a session without entries. @returns the failures, as sentences */
export async function runSessionEndHooks(
  hooks: readonly ResolvedHook[],
  { store, root, sessionId, reason }: SessionEnd,
): Promise<readonly string[]> {
  const ending = hooks.filter(({ event, matches }) => event === "SessionEnd" && matches([reason]));
  if (ending.length === 0) return [];
  try {
    if ((await store.describe(sessionId)) === null) return [];
  } catch (error) {
    // A store that fails has ended the run with its own error.
    return [`The SessionEnd hooks did not run: ${getErrorMessage(error)}`];
  }
  const failures = await Promise.all(
    ending.map(async (hook) => {
      try {
        checkHookTrust(hook, root);
        const end = await withTranscript(sessionId, { store, root }, (path) =>
          runHookCommand(
            hook,
            { session_id: sessionId, transcript_path: path, cwd: root, hook_event_name: hook.event, reason },
            { root, signal: new AbortController().signal },
          ),
        );
        readHookAnswer(end, hook.event);
        return [];
      } catch (error) {
        return [`The hook ${formatHookName(hook)} failed: ${getErrorMessage(error)}.`];
      }
    }),
  );
  return failures.flat();
}
