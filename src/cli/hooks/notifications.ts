/**
 * Notification hooks: commands that run when a session waits for a person. The run does not wait for them.
 */
import type { Observer, PublicEventOf } from "../../index.js";
import { checkHookTrust } from "./create-hooks.js";
import { formatHookName, type ResolvedHook } from "./resolve-hooks.js";
import { runHookCommand } from "./run-hook-command.js";
import { trackNotification } from "./running-notifications.js";
import { type TranscriptDeps, withTranscript } from "./transcript-file.js";

/** Runs the hooks at each question, including questions of the agents that the agent calls. */
export function createNotifier(hooks: readonly ResolvedHook[], { store, root }: TranscriptDeps): readonly Observer[] {
  return hooks.flatMap((hook): readonly Observer[] => {
    if (hook.event !== "Notification") return [];
    const notify = async (event: PublicEventOf<"approval_requested">) => {
      checkHookTrust(hook, root);
      const input = { session_id: event.sessionId, cwd: root, hook_event_name: hook.event, ...describe(event) };
      await withTranscript(event.sessionId, { store, root }, (path) =>
        runHookCommand(hook, { ...input, transcript_path: path }, { root, signal: new AbortController().signal }),
      );
    };
    return [
      {
        name: formatHookName(hook),
        children: true,
        onEvent(event) {
          // A question of a child is also an event of the session that waits for it.
          if (event.type !== "approval_requested" || event.childId !== undefined) return undefined;
          if (!hook.matches([typeOf(event)])) return undefined;
          return trackNotification(notify(event));
        },
      },
    ];
  });
}

function typeOf({ why }: PublicEventOf<"approval_requested">): string {
  return why === "tool" ? "question" : "permission_prompt";
}

function describe(event: PublicEventOf<"approval_requested">) {
  const { name, question } = event;
  return {
    notification_type: typeOf(event),
    message: question ?? `The agent asks whether to run ${name}.`,
    tool: name,
  };
}
