/**
 * The server itself: whether it lives and is ready, what it can do, and its figures.
 */
import { answers, plainContent } from "../answer-shapes.js";
import { contentType, gauge } from "../metrics/figures.js";
import { createMetrics } from "../metrics/metrics.js";
import type { Asked, Route } from "../route.js";
import { type ServerContext, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";

/** The time in which the store must answer, in milliseconds. */
const readyWithinMs = 1_000;

export const systemRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/health",
    action: "health",
    scope: null,
    about: "Whether the process lives. It needs no token.",
    gives: { 200: "{ ok }" },
    answers: { 200: answers.ok },
    handle: () => ({ status: 200, json: { ok: true } }),
  },
  {
    method: "GET",
    path: "/ready",
    action: "ready",
    scope: null,
    about: "Whether the store answers and the server takes requests. It needs no token.",
    gives: { 200: "{ ok }" },
    answers: { 200: answers.ok },
    handle: ready,
  },
  {
    method: "GET",
    path: "/metrics",
    action: "metrics",
    scope: "admin",
    about: "Figures, as Prometheus reads them.",
    gives: { 200: "text/plain" },
    answers: { 200: plainContent },
    handle: metrics,
  },
  {
    method: "GET",
    path: "/openapi.json",
    action: "openapi",
    scope: "read",
    about: "This description.",
    gives: { 200: "the OpenAPI 3.1 document" },
    answers: { 200: answers.openApi },
    handle: (_, context) => ({ status: 200, json: context.openApi() }),
  },
  {
    method: "GET",
    path: "/v1/agents",
    action: "agents",
    scope: "read",
    about: "The agents of this process, with their tools.",
    gives: { 200: "{ agents }" },
    answers: { 200: answers.agents },
    handle: agents,
  },
];

async function ready(_: Asked, { settings, isDraining }: ServerContext) {
  if (isDraining()) throw new ServerError("draining", "The server is shutting down.");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ServerError("store_failed", "The store does not answer.")), readyWithinMs);
  });
  try {
    await Promise.race([settings.store.list({ limit: 1 }), late]);
  } catch {
    throw new ServerError("store_failed", "The store does not answer.");
  } finally {
    clearTimeout(timer);
  }
  return { status: 200, json: { ok: true } } as const;
}

function agents(_: Asked, context: ServerContext) {
  const all = [...context.agents].map(([name, agent]) => ({
    name,
    models: context.modelsOf(agent),
    tools: agent.specifications(),
    limits: agent.options.limits ?? {},
  }));
  return { status: 200, json: { agents: shown(context, all) } } as const;
}

async function metrics(_: Asked, { streams, usage, requests, worker, settings }: ServerContext) {
  const { store, metrics: runs } = settings;
  const lines = [
    gauge("pawl_streams", "Streams that are open.", streams.count()),
    requests.text(),
    usage.text(),
    await (runs ?? createMetrics()).text({ store, ...(worker === null ? {} : { worker }) }),
  ];
  const headers = { "content-type": contentType };
  return { status: 200, bytes: new TextEncoder().encode(lines.join("")), headers } as const;
}
