/**
 * Counts what agents do, from the events that their observers get.
 */
import type { EventContext, Observer, PublicEvent, Usage } from "../../index.js";
import type { Figures } from "./figures.js";

const modelSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];
const toolSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const runSeconds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400];

/** Adds the figures of runs, and returns the observer that counts them. */
export function observeRuns(figures: Figures): Observer {
  const counted = countersIn(figures);
  const toolNames = createToolNames();

  function onEvent(event: PublicEvent, context: EventContext): void {
    toolNames.learn(event, context);
    const { agent } = context;
    switch (event.type) {
      case "run_started":
        counted.started.add({ agent });
        break;
      case "final": {
        const { status } = event.result;
        counted.ended.add({ agent, status, reason: "reason" in event.result ? event.result.reason : "" });
        if (context.runStartedAt !== undefined)
          counted.runSeconds.observe({ agent, status }, seconds(event.at - context.runStartedAt));
        return;
      }
      case "restarted":
        counted.restarts.add({ agent });
        break;
      case "step_finished":
        countUsage(context, event.model);
        counted.steps.add({ agent, model: event.model });
        counted.modelSeconds.observe({ agent, model: event.model }, seconds(event.durationMs));
        if (context.timing?.firstDeltaMs !== undefined)
          counted.firstSeconds.observe({ agent, model: event.model }, seconds(context.timing.firstDeltaMs));
        break;
      case "attempt_failed":
        countUsage(context, event.model);
        counted.modelFailures.add({ agent, model: event.model, kind: event.failure.kind });
        break;
      case "tool_result":
        counted.calls.add({ agent, tool: toolNames.shown(event.name), outcome: event.outcome });
        break;
      case "call_complete":
        // A call that did not run here took no time here.
        if (context.timing !== undefined)
          counted.callSeconds.observe({ agent, tool: toolNames.shown(event.name) }, seconds(event.durationMs));
        break;
      case "tool_failed":
        counted.retries.add({ agent, tool: toolNames.shown(event.name) });
        break;
      case "approval_requested":
        // The child session's own observers count its questions.
        if (event.childId === undefined) counted.questions.add({ agent, why: event.why });
        break;
      case "hook_failed":
        counted.hookFailures.add({ agent, hook: event.hook, outcome: event.outcome });
        break;
      case "compacted":
        countUsage(context, event.model ?? "unknown");
        counted.compactions.add({ agent, outcome: event.fault === undefined ? "ok" : "failed" });
        break;
      default:
    }
  }

  function countUsage({ agent, usage }: EventContext, model: string): void {
    if (usage === undefined) return;
    for (const [name, counter] of counted.usage) {
      const used = usage[name];
      if (used !== undefined && used > 0) counter.add({ agent, model }, used);
    }
  }

  return { name: "metrics", children: true, onEvent };
}

type Counted = Exclude<keyof Usage, "partial" | "cacheWrite1hTokens">;

function countersIn({ counter, histogram }: Figures) {
  const usage: readonly (readonly [Counted, ReturnType<typeof counter>])[] = [
    ["inputTokens", counter("pawl_input_tokens_total", "Input tokens, with those of caches.")],
    ["cacheReadTokens", counter("pawl_cache_read_tokens_total", "Input tokens that were read from a cache.")],
    ["cacheWriteTokens", counter("pawl_cache_write_tokens_total", "Input tokens that were written to a cache.")],
    ["outputTokens", counter("pawl_output_tokens_total", "Output tokens, with those of reasoning.")],
    ["reasoningTokens", counter("pawl_reasoning_tokens_total", "Output tokens of reasoning.")],
    ["costUsd", counter("pawl_cost_dollars_total", "Cost of model calls in US dollars, as far as prices are known.")],
  ];
  return {
    started: counter("pawl_runs_started_total", "Runs that began."),
    ended: counter("pawl_runs_total", "Runs that ended, by how and why."),
    runSeconds: histogram(
      "pawl_run_duration_seconds",
      "Time from the start of a run to its end, waiting included.",
      runSeconds,
    ),
    restarts: counter("pawl_restarts_total", "Runs that were taken up after a process had died or left them."),
    steps: counter("pawl_steps_total", "Model calls that gave a message."),
    modelSeconds: histogram(
      "pawl_model_call_duration_seconds",
      "Duration of model calls that gave a message, the last attempt alone.",
      modelSeconds,
    ),
    firstSeconds: histogram(
      "pawl_model_first_delta_seconds",
      "Time until the first part of a model's message came.",
      modelSeconds,
    ),
    modelFailures: counter("pawl_model_failures_total", "Attempts of model calls that failed, by kind of failure."),
    usage,
    calls: counter("pawl_tool_calls_total", "Tool calls that have a result, by outcome."),
    callSeconds: histogram("pawl_tool_call_duration_seconds", "Duration of tool calls that ran here.", toolSeconds),
    retries: counter("pawl_tool_retries_total", "Attempts of tool calls that failed and were tried again."),
    questions: counter("pawl_approvals_requested_total", "Questions that were asked of people, by who asks."),
    hookFailures: counter("pawl_hook_failures_total", "Calls of hooks that failed."),
    compactions: counter("pawl_compactions_total", "Compactions of conversations, by outcome."),
  };
}

/** The most names of tools that are kept. */
const maxToolNames = 1_000;

/**
 * Names of tools that exist. A model may make names up, so a name is shown only once a call of it has run, waited or
 * been denied by a policy.
 */
function createToolNames() {
  const known = new Set<string>();
  return {
    learn(event: PublicEvent, { timing }: EventContext): void {
      if (!("callKey" in event && "name" in event) || known.size >= maxToolNames) return;
      const { type, name } = event;
      const isReal =
        type === "tool_result"
          ? timing !== undefined || event.outcome === "denied" || event.outcome === "blocked"
          : type !== "call_start" && type !== "tool_call" && type !== "call_complete";
      if (isReal) known.add(name);
    },
    shown: (name: string) => (known.has(name) ? name : "other"),
  };
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}
