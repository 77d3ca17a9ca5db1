/**
 * Limits the size of an output for the log, whether it comes from a tool, a person, a child or an outside program.
 */

import { formatNotStored } from "../../context/prompts.js";
import { assertStorable, defaultMaxOutputBytes, maxStoredBytes } from "../../context/tool-output.js";
import type { ToolOutput } from "../../core/data/message.js";
import { byteLength } from "../../platform/bytes.js";
import type { Clock } from "../../ports/clock.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { isThenable, type MaybePromise } from "../lib/coroutine.js";
import { awaitInTime } from "../lib/time-limit.js";

/**
 * Truncates an output that is too long for the model. The full output is written to the store, so hooks must run before this.
 * @throws PawlError `not_storable` for an output that is too large for the log
 */
export function capOutput(
  output: ToolOutput,
  toolName: string,
  sessionId: string,
  { services, tools, clock }: CappingDeps,
): MaybePromise<ToolOutput> {
  const maxBytes = tools.get(toolName)?.tool.maxOutputBytes;
  const limit = maxBytes === undefined ? { sessionId } : { sessionId, maxBytes };
  const capped = services.output === null ? output : services.output.cap(output, limit);
  return isThenable(capped) ? awaitCapped(capped, clock).then(assertStorable) : assertStorable(capped);
}

/** Truncates both outputs of a result: the model's, and the tool's return value if it is different. */
export function capResult(
  { output, returned }: { readonly output: ToolOutput; readonly returned?: ToolOutput | undefined },
  toolName: string,
  sessionId: string,
  agent: CappingDeps,
): MaybePromise<ResultOutputs> {
  const cut = capOutput(output, toolName, sessionId, agent);
  if (returned !== undefined) return capBoth(cut, returned, sessionId, agent);
  return isThenable(cut) ? cut.then((done) => ({ output: done })) : { output: cut };
}

export type ResultOutputs = { readonly output: ToolOutput; readonly returned?: ToolOutput };

async function capBoth(
  cutting: MaybePromise<ToolOutput>,
  returned: ToolOutput,
  sessionId: string,
  agent: CappingDeps,
): Promise<ResultOutputs> {
  const output = await cutting;
  return { output, returned: await capReturned(returned, output, sessionId, agent) };
}

/**
 * The same for a tool's return value that the model does not read: truncated to the default size, and further if the two
 * outputs would be too large for an entry. It never fails the call: a value that cannot be stored is replaced by a note.
 */
async function capReturned(
  returned: ToolOutput,
  output: ToolOutput,
  sessionId: string,
  { services, clock }: Pick<CompiledAgent, "services" | "clock">,
): Promise<ToolOutput> {
  const room = Math.max(maxStoredBytes - bytesOf(output), minRoom);
  try {
    for (const maxBytes of services.output === null ? [] : [defaultMaxOutputBytes, smallBytes]) {
      const capped = services.output?.cap(returned, { sessionId, maxBytes }) ?? returned;
      const kept = isThenable(capped) ? await awaitCapped(capped, clock) : capped;
      if (bytesOf(kept) <= room) return kept;
    }
    if (services.output === null && bytesOf(returned) <= room) return returned;
  } catch {
    // The tool has run, and the model already has its output.
  }
  return { type: "text", text: formatNotStored(bytesOf(returned)) };
}

/** The minimum number of bytes that an entry leaves for a tool's return value, however large the model's output is. */
const minRoom = 32 * 1024;
const smallBytes = 4 * 1024;

function bytesOf(output: ToolOutput): number {
  return byteLength(JSON.stringify(output));
}

type CappingDeps = Pick<CompiledAgent, "services" | "tools" | "clock">;

/** The time limit of an output service for one output. */
const capTimeoutMs = 60_000;

/** @throws Error if the service throws, or takes too long */
async function awaitCapped(capped: PromiseLike<ToolOutput>, clock: Clock): Promise<ToolOutput> {
  const settled = await awaitInTime(capped, { timeoutMs: capTimeoutMs, clock });
  if (settled.type === "returned") return settled.value;
  throw new Error(`The output could not be stored: ${settled.message}`);
}

/** The same for a child's answer, whose size is already limited: if the service fails, the answer is used unchanged. */
export async function capOrKeepWhole(
  output: ToolOutput,
  sessionId: string,
  { services: { output: service }, clock }: Pick<CompiledAgent, "services" | "clock">,
): Promise<ToolOutput> {
  if (service === null) return output;
  try {
    const capped = service.cap(output, { sessionId });
    return isThenable(capped) ? await awaitCapped(capped, clock) : capped;
  } catch {
    return output;
  }
}
