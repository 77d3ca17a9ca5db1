/**
 * Icons of states. Each has a distinct shape, so that colors are not needed to distinguish them.
 */
import type { ComponentChildren } from "preact";

export type Sign = "running" | "waiting" | "done" | "failed" | "stopped" | "idle" | "retried" | "denied";

const shapes: { readonly [sign in Sign]: ComponentChildren } = {
  running: <circle cx="6" cy="6" r="3.5" fill="currentColor" />,
  waiting: (
    <>
      <rect x="2.5" y="2" width="2.5" height="8" rx="0.75" fill="currentColor" />
      <rect x="7" y="2" width="2.5" height="8" rx="0.75" fill="currentColor" />
    </>
  ),
  done: <path d="M2 6.4 4.8 9 10 3.2" class="stroke" />,
  failed: <path d="M2.8 2.8 9.2 9.2M9.2 2.8 2.8 9.2" class="stroke" />,
  stopped: <rect x="2.5" y="2.5" width="7" height="7" rx="1.2" fill="currentColor" />,
  idle: <circle cx="6" cy="6" r="3.2" class="stroke" />,
  retried: <path d="M10 6a4 4 0 1 1-1.2-2.8M10 1.2v2.6H7.4" class="stroke" />,
  denied: <path d="M9.6 6A3.6 3.6 0 1 1 2.4 6a3.6 3.6 0 0 1 7.2 0ZM3.6 8.4l4.8-4.8" class="stroke" />,
};

export function Icon({ sign, label }: { readonly sign: Sign; readonly label?: string }) {
  return (
    <svg class={`icon ${sign}`} viewBox="0 0 12 12" width="12" height="12" {...labelAttributes(label)}>
      {shapes[sign]}
    </svg>
  );
}

function labelAttributes(label: string | undefined) {
  return label === undefined ? ({ "aria-hidden": "true" } as const) : ({ role: "img", "aria-label": label } as const);
}

const statusSigns: { readonly [status: string]: Sign } = {
  idle: "idle",
  preparing: "running",
  model_running: "running",
  tool_running: "running",
  awaiting_human: "waiting",
  completed: "done",
  failed: "failed",
  aborted: "stopped",
  interrupted: "stopped",
};

export function signOfStatus(status: string): Sign {
  return statusSigns[status] ?? "idle";
}

const outcomeSigns: { readonly [outcome: string]: Sign } = {
  ok: "done",
  error: "failed",
  denied: "denied",
  blocked: "denied",
  skipped: "idle",
  not_run: "idle",
  aborted: "stopped",
  interrupted: "stopped",
};

export function signOfOutcome(outcome: string | null): Sign {
  return outcome === null ? "running" : (outcomeSigns[outcome] ?? "idle");
}
