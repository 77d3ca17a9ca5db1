/**
 * The compiled agent of a run with additional tools, and the checks of those tools.
 */
import { nearestName } from "../../core/data/nearest-name.js";
import type { RunRecord } from "../../core/transcript/run-record.js";
import { PawlError } from "../../errors.js";
import { findAgentOfTool } from "./agent-tool.js";
import type { CompiledAgent } from "./compiled-agent.js";
import { findLocals } from "./local-run-options.js";
import type { RunTools } from "./run-tools.js";

/**
 * Refuses tools of a run whose names are taken, and tools that are agents.
 * @param known the tools of the agent and of the agents that it can hand over to: any of them may drive the session
 * @throws PawlError `duplicate_tool`, `bad_input`
 */
export function refuseKnownTools(
  tools: RunTools,
  known: ReadonlyMap<string, unknown>,
  { withTools }: CompiledAgent,
): void {
  for (const name of tools.keys())
    if (known.has(name))
      throw new PawlError(
        "duplicate_tool",
        `The run and its agent both have a tool named "${name}". Rename the run's tool, or omit it.`,
      );
  for (const { tool } of tools.values())
    if (findAgentOfTool(tool) !== undefined)
      throw new PawlError(
        "bad_input",
        `The tool "${tool.name}" is an agent, and agents cannot be tools of a single run: other processes could not resume their sessions. Give it to the agent: agent.with({ tools }).`,
      );
  withTools(tools);
}

/** A run can only be resumed with the tools that it was started with. @throws PawlError `bad_input` */
export function refuseOtherTools(tools: RunTools, runId: string, recorded: readonly string[] = []): void {
  const other = [...tools.keys()].find((name) => !recorded.includes(name));
  if (other === undefined) return;
  const near = nearestName(other, recorded);
  const hint = near === undefined ? "" : ` Do you mean ${JSON.stringify(near)}?`;
  const known = recorded.length === 0 ? "It was started without tools." : `It has ${recorded.join(", ")}.`;
  throw new PawlError(
    "bad_input",
    `The run ${runId} was not started with a tool ${JSON.stringify(other)}.${hint} ${known}`,
  );
}

/** Cached by the run's tools, so that the lists in its requests stay the same arrays. */
const merged = new WeakMap<RunTools, Map<CompiledAgent, CompiledAgent>>();

/** The compiled agent with the tools of its current run. */
export function withRunTools(agent: CompiledAgent, sessionId: string, run: RunRecord | null): CompiledAgent {
  if (run?.options.tools === undefined) return agent;
  const tools = findLocals(agent.locals, sessionId, run.runId)?.tools;
  if (tools === undefined) return agent;
  const known = merged.get(tools) ?? new Map<CompiledAgent, CompiledAgent>();
  merged.set(tools, known);
  const found = known.get(agent) ?? { ...agent, ...agent.withTools(tools) };
  known.set(agent, found);
  return found;
}

/** The tools that the run was started with and that this process does not have. */
export function listMissingRunTools({ tools }: Pick<CompiledAgent, "tools">, run: RunRecord | null): readonly string[] {
  return run?.options.tools?.filter((name) => !tools.has(name)) ?? none;
}

const none: readonly never[] = [];
