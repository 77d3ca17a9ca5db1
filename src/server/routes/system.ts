/**
 * The server itself: liveness, readiness, capabilities, and metrics.
 */

import { createMetrics } from "../metrics/metrics.js";
import { contentType, formatGauge } from "../metrics/registry.js";
import { plainContent, responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { redactSecrets, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";

/** How long the store may take to respond, in milliseconds. */
const readyWithinMs = 1_000;

export const systemRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/health",
    action: "health",
    scope: null,
    summary: "Whether the process is alive. Needs no token.",
    responses: { 200: "{ ok }" },
    content: { 200: responseContents.ok },
    handle: () => ({ status: 200, json: { ok: true } }),
  },
  {
    method: "GET",
    path: "/ready",
    action: "ready",
    scope: null,
    summary: "Whether the store responds and the server accepts requests. Needs no token.",
    responses: { 200: "{ ok }" },
    content: { 200: responseContents.ok },
    handle: checkReady,
  },
  {
    method: "GET",
    path: "/metrics",
    action: "metrics",
    scope: "admin",
    summary: "Metrics in Prometheus's text format.",
    responses: { 200: "text/plain" },
    content: { 200: plainContent },
    handle: readMetrics,
  },
  {
    method: "GET",
    path: "/openapi.json",
    action: "openapi",
    scope: "read",
    summary: "This OpenAPI document.",
    responses: { 200: "the OpenAPI 3.1 document" },
    content: { 200: responseContents.openApi },
    handle: (_, context) => ({ status: 200, json: context.openApi() }),
  },
  {
    method: "GET",
    path: "/v1/agents",
    action: "agents",
    scope: "read",
    summary: "The agents of this process, with their tools.",
    responses: { 200: "{ agents }" },
    content: { 200: responseContents.agents },
    handle: listAgents,
  },
];

async function checkReady(_: RouteRequest, { settings, isDraining }: ServerContext) {
  if (isDraining()) throw new ServerError("draining", "The server is shutting down.");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ServerError("store_failed", "The store does not respond.")), readyWithinMs);
  });
  try {
    await Promise.race([settings.store.list({ limit: 1 }), timeout]);
  } catch {
    throw new ServerError("store_failed", "The store does not respond.");
  } finally {
    clearTimeout(timer);
  }
  return { status: 200, json: { ok: true } } as const;
}

function listAgents(_: RouteRequest, context: ServerContext) {
  const describedAgents = [...context.agents].map(([name, agent]) => ({
    name,
    models: context.listModelIds(agent),
    tools: agent.specifications(),
    limits: agent.options.limits ?? {},
  }));
  return { status: 200, json: { agents: redactSecrets(context, describedAgents) } } as const;
}

async function readMetrics(_: RouteRequest, { streams, usage, requestMetrics, worker, settings }: ServerContext) {
  const { store, metrics: agentMetrics } = settings;
  const lines = [
    formatGauge("pawl_streams", "Open streams.", streams.count()),
    requestMetrics.text(),
    usage.text(),
    await (agentMetrics ?? createMetrics()).text({ store, ...(worker === null ? {} : { worker }) }),
  ];
  const headers = { "content-type": contentType };
  return { status: 200, bytes: new TextEncoder().encode(lines.join("")), headers } as const;
}
