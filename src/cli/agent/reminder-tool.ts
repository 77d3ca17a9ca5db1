/**
 * The tool `remind_me` of the terminal's agent, in the time zone of the machine.
 */
import { type AnyTool, createClient, type Store } from "../../index.js";
import { remindMe } from "../../tools/index.js";

/**
 * 1. The description does not name the time zone. A session that continues in another one, or its replay, still has the same tools.
 * 2. The time zone is looked up for the first call, because the first lookup of a process takes about 30 ms.
 */
export function createReminderTool(store: Store): AnyTool {
  const options = { client: createClient({ store }), needsApproval: false };
  let localTool: AnyTool | null = null;
  return {
    ...remindMe(options),
    description:
      "Sends a message to this conversation later, so that you can continue at that time. Times without an offset are local times of the person's machine. List and cancel your reminders with action.",
    execute(input, context) {
      localTool ??= remindMe({ ...options, timezone: findTimeZone() });
      return localTool.execute?.(input, context);
    },
  };
}

function findTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
