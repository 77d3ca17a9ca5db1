/**
 * Counts the work of agents, from the events that observers receive.
 */
import type { EventContext, Observer, PublicEvent, Usage } from "../../index.js";
import type { MetricRegistry } from "./registry.js";

const modelSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];
const toolSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const runSeconds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400];

/** Registers the metrics of runs, and returns the observer that updates them. */
export function createRunObserver(registry: MetricRegistry): Observer {
  const counters = createCounters(registry);
  const toolNames = createToolNames();

  function onEvent(event: PublicEvent, context: EventContext): void {
    toolNames.learn(event, context);
    const { agent } = context;
    switch (event.type) {
      case "run_started":
        counters.started.add({ agent });
        break;
      case "final": {
        const { status } = event.result;
        counters.ended.add({ agent, status, reason: "reason" in event.result ? event.result.reason : "" });
        if (context.runStartedAt !== undefined)
          counters.runSeconds.observe({ agent, status }, toSeconds(event.at - context.runStartedAt));
        return;
      }
      case "restarted":
        counters.restarts.add({ agent });
        break;
      case "step_finished":
        countUsage(context, event.model);
        counters.steps.add({ agent, model: event.model });
        counters.modelSeconds.observe({ agent, model: event.model }, toSeconds(event.durationMs));
        if (context.timing?.firstDeltaMs !== undefined)
          counters.firstSeconds.observe({ agent, model: event.model }, toSeconds(context.timing.firstDeltaMs));
        break;
      case "attempt_failed":
        countUsage(context, event.model);
        counters.modelFailures.add({ agent, model: event.model, kind: event.failure.kind });
        break;
      case "tool_result":
        counters.calls.add({ agent, tool: toolNames.shown(event.name), outcome: event.outcome });
        break;
      case "call_complete":
        // A call that did not run in this process has no duration here.
        if (context.timing !== undefined)
          counters.callSeconds.observe({ agent, tool: toolNames.shown(event.name) }, toSeconds(event.durationMs));
        break;
      case "tool_failed":
        counters.retries.add({ agent, tool: toolNames.shown(event.name) });
        break;
      case "approval_requested":
        // The child session's own observers count its questions.
        if (event.childId === undefined) counters.questions.add({ agent, why: event.why });
        break;
      case "hook_failed":
        counters.hookFailures.add({ agent, hook: event.hook, outcome: event.outcome });
        break;
      case "compacted":
        countUsage(context, event.model ?? "unknown");
        counters.compactions.add({ agent, outcome: event.fault === undefined ? "ok" : "failed" });
        break;
      default:
    }
  }

  function countUsage({ agent, usage }: EventContext, model: string): void {
    if (usage === undefined) return;
    for (const [name, counter] of counters.usage) {
      const used = usage[name];
      if (used !== undefined && used > 0) counter.add({ agent, model }, used);
    }
  }

  return { name: "metrics", children: true, onEvent };
}

type CountedUsage = Exclude<keyof Usage, "partial" | "cacheWrite1hTokens">;

function createCounters({ counter, histogram }: MetricRegistry) {
  const usage: readonly (readonly [CountedUsage, ReturnType<typeof counter>])[] = [
    ["inputTokens", counter("pawl_input_tokens_total", "Input tokens, including cached ones.")],
    ["cacheReadTokens", counter("pawl_cache_read_tokens_total", "Input tokens that were read from a cache.")],
    ["cacheWriteTokens", counter("pawl_cache_write_tokens_total", "Input tokens that were written to a cache.")],
    ["outputTokens", counter("pawl_output_tokens_total", "Output tokens, including reasoning.")],
    ["reasoningTokens", counter("pawl_reasoning_tokens_total", "Reasoning tokens.")],
    ["costUsd", counter("pawl_cost_dollars_total", "Cost of model calls in US dollars, as far as prices are known.")],
  ];
  return {
    started: counter("pawl_runs_started_total", "Runs that began."),
    ended: counter("pawl_runs_total", "Runs that ended, by status and reason."),
    runSeconds: histogram(
      "pawl_run_duration_seconds",
      "Time from the start of a run to its end, including waits.",
      runSeconds,
    ),
    restarts: counter("pawl_restarts_total", "Runs that were resumed after their process had died or left them."),
    steps: counter("pawl_steps_total", "Model calls that returned a message."),
    modelSeconds: histogram(
      "pawl_model_call_duration_seconds",
      "Duration of model calls that returned a message, last attempt only.",
      modelSeconds,
    ),
    firstSeconds: histogram(
      "pawl_model_first_delta_seconds",
      "Time to the first part of a model's message.",
      modelSeconds,
    ),
    modelFailures: counter("pawl_model_failures_total", "Attempts of model calls that failed, by kind of failure."),
    usage,
    calls: counter("pawl_tool_calls_total", "Tool calls that have a result, by outcome."),
    callSeconds: histogram(
      "pawl_tool_call_duration_seconds",
      "Duration of tool calls that ran in this process.",
      toolSeconds,
    ),
    retries: counter("pawl_tool_retries_total", "Attempts of tool calls that failed and were retried."),
    questions: counter("pawl_approvals_requested_total", "Questions to people, by what asked."),
    hookFailures: counter("pawl_hook_failures_total", "Hook calls that failed."),
    compactions: counter("pawl_compactions_total", "Compactions of conversations, by outcome."),
  };
}

/** The maximum number of tool names that are remembered. */
const maxToolNames = 1_000;

/**
 * Tracks the names of tools that exist. A model may invent names, so a name is shown only after a call with it has run, waited or been
 * denied by a policy.
 */
function createToolNames() {
  const knownTools = new Set<string>();
  return {
    learn(event: PublicEvent, { timing }: EventContext): void {
      if (!("callKey" in event && "name" in event) || knownTools.size >= maxToolNames) return;
      const { type, name } = event;
      const isKnownToExist =
        type === "tool_result"
          ? timing !== undefined || event.outcome === "denied" || event.outcome === "blocked"
          : type !== "call_start" && type !== "tool_call" && type !== "call_complete";
      if (isKnownToExist) knownTools.add(name);
    },
    shown: (name: string) => (knownTools.has(name) ? name : "other"),
  };
}

function toSeconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}
