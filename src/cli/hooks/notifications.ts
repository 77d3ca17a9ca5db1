/**
 * Notification hooks: commands that run when a session waits for a person. The run does not wait for them.
 */
import type { Observer, PublicEventOf } from "../../index.js";
import type { ResolvedHook } from "./resolve-hooks.js";
import { runHookCommand } from "./run-hook-command.js";

/** The commands that run now. A process that ends gives them time to finish. */
const running = new Set<Promise<unknown>>();

export type NotificationDeps = {
  readonly root: string;
  /** Throws an Error if the hook must not run. */
  readonly checkTrust: (hook: ResolvedHook) => void;
};

/** Runs the hooks at each question, also of the agents that the agent calls. */
export function createNotifier(
  hooks: readonly ResolvedHook[],
  { root, checkTrust }: NotificationDeps,
): readonly Observer[] {
  return hooks.flatMap((hook): readonly Observer[] => {
    if (hook.event !== "Notification") return [];
    const notify = async (event: PublicEventOf<"approval_requested">) => {
      checkTrust(hook);
      const input = { session_id: event.sessionId, cwd: root, hook_event_name: hook.event, ...describe(event) };
      await runHookCommand(hook, input, { root, signal: new AbortController().signal });
    };
    return [
      {
        name: `Notification: ${hook.command}`.slice(0, 100),
        children: true,
        onEvent(event) {
          // A question of a child is also an event of the session that waits for it.
          if (event.type !== "approval_requested" || event.childId !== undefined) return undefined;
          if (!hook.matches([typeOf(event)])) return undefined;
          const work = notify(event);
          running.add(work);
          return work.finally(() => running.delete(work));
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

const maxWaitMs = 5_000;

/** Waits for commands that run, for at most 5 seconds. */
export async function finishNotifications(): Promise<void> {
  if (running.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, maxWaitMs);
  });
  await Promise.race([Promise.allSettled([...running]), timeUp]);
  clearTimeout(timer);
}
