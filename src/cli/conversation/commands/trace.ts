/**
 * The command `/trace` of a conversation.
 */
import { traceSession } from "../../../inspect.js";
import { renderWaterfall } from "../../render/waterfall.js";
import { lineOf } from "../../screen/line.js";
import { plainText } from "../../terminal/text-style.js";
import type { CommandContext } from "./command-context.js";

/** Shows where the time of the last run went. */
export async function runTraceCommand({ store, sessionId, redaction, columns, say }: CommandContext): Promise<void> {
  const records =
    (await store.describe(sessionId)) === null
      ? []
      : await traceSession(store, sessionId, { asOf: Date.now(), redact: redaction.text });
  const runId = records.at(-1)?.runId;
  if (runId === undefined) return say([lineOf("No run of this session has started.", "dim")]);
  const run = records.filter((record) => record.runId === runId);
  say(renderWaterfall(run, Math.min(columns() - 1, 120), plainText).map((line) => lineOf(line)));
}
