/**
 * The tools of a run in a replay: their schemas are read from the log, and they have no functions.
 */
import type { EventOf } from "../../core/machine/event.js";
import { toolNameOf } from "../../core/transcript/results.js";
import type { RunRecord } from "../../core/transcript/run-record.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { AnyTool } from "../../ports/tool.js";
import { listMissingRunTools } from "../agent/agent-with-run-tools.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { compileInput } from "../tools/schema.js";
import { parseSpecifications } from "../work/prompt-blobs.js";

/** An agent with the tools of a run, and whether the log has all of those tools. */
export type Recorded = { readonly own: CompiledAgent; readonly isWhole: boolean };

/** @param named the blob of the tools that the model was offered */
export async function withRecordedTools(
  own: CompiledAgent,
  run: RunRecord | null,
  readText: (hash: string) => Promise<string | null>,
  named: string | null | undefined,
): Promise<Recorded> {
  const missing = listMissingRunTools(own, run);
  if (missing.length === 0) return { own, isWhole: true };
  const text = named == null ? null : await readText(named);
  // A run whose tools are deferred also has the tools that find them.
  const found = (text === null ? [] : parseSpecifications(text)).filter(({ name }) => !own.tools.has(name));
  const tools = new Map(found.map((one) => [one.name, toRecordedTool(one)]));
  return { own: { ...own, ...own.withTools(tools) }, isWhole: missing.every((name) => tools.has(name)) };
}

/** Whether the tool of a call belongs only to the run and is missing here. */
export function isOfRunAlone(
  event: EventOf<"tool_decided" | "tool_waiting" | "tool_failed" | "tool_finished">,
  own: CompiledAgent,
  { run, calls }: Transcript,
): boolean {
  const record = calls.get(event.callKey);
  if (record === undefined || listMissingRunTools(own, run).length === 0) return false;
  const repaired = event.type === "tool_decided" ? event.decision.repair?.name : undefined;
  return !own.tools.has(repaired ?? toolNameOf(record));
}

function toRecordedTool(specification: ToolSpecification): CompiledTool {
  const { name, description, inputSchema } = specification;
  const tool: AnyTool = { name, description, input: inputSchema, execute: () => undefined };
  return { tool, specification, validate: compileInput(inputSchema).validate };
}
