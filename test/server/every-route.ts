/**
 * A request of each route, which is answered as the OpenAPI document says.
 */
import { expect } from "vitest";
import type { Report } from "../../src/evals/index.js";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createNotices } from "../../src/notices/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createSubscriber } from "../notices/push-service.js";
import { pay, type Rig } from "./rig.js";

const lookTool = defineTool({ name: "look", description: "Looks elsewhere.", input: { type: "object" } });
/** The report of an eval without cases. */
const emptyReport: Report = {
  v: 1,
  name: "all",
  play: "run",
  trials: [],
  variants: {},
  hasBaseline: false,
  agreement: {},
  paidUsd: 0,
  asked: 0,
  kept: 0,
  unpriced: 0,
  leftOut: 0,
  durationMs: 0,
};

/** A server whose agent does what the requests below need. */
export function createRigOptions(store: Store = createMemoryStore()) {
  const scriptedModel = createScriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "user") return { text: "Done." };
    const requestText = JSON.stringify(last.parts);
    return requestText.includes("Pay")
      ? { calls: [{ name: "pay" }] }
      : requestText.includes("Look")
        ? { calls: [{ name: "look" }] }
        : { text: "Done." };
  });
  const agent = createAgent({ name: "all", store, model: scriptedModel, tools: [pay, lookTool] });
  const evalReports = async () => [emptyReport];
  const oauth = { resource: "https://agents.example.org/mcp", authorizationServers: ["https://login.example.org"] };
  const canSignal = () => true;
  const a2a = { description: "Does everything." };
  const notices = createNotices([], { push: { contact: "mailto:ops@example.org" } });
  const limits = { changesPerMinute: 1_000 };
  return { store, agents: [agent], limits, evalReports, oauth, canSignal, a2a, notices } as const;
}

type Ask = Rig["ask"];
type StartedRun = { readonly id: string; readonly runId: string };

/** A session with one run of this input, at rest or waiting. */
export async function beginSession(ask: Ask, input: string): Promise<StartedRun> {
  const { sessionId: id, runId } = (await ask("POST", "/v1/sessions", { agent: "all", input })).json;
  await ask("GET", `/v1/sessions/${id}/runs/${runId}?wait=30`);
  return { id, runId };
}

function putSchedule(ask: Ask) {
  return ask("PUT", "/v1/schedules/daily", { cron: "0 8 * * *", agent: "all", input: "What is new?" });
}

const browserEndpoint = "https://push.example.org/abc";

async function subscribe(ask: Ask) {
  const { publicKey } = (await ask("GET", "/v1/push")).json;
  const { p256dh, auth } = createSubscriber();
  return ask("POST", "/v1/push/subscribe", { endpoint: browserEndpoint, p256dh, auth, publicKey });
}

async function beginWaitingSession(ask: Ask, input: string) {
  const started = await beginSession(ask, input);
  const { callKey, inputHash } = (await ask("GET", `/v1/sessions/${started.id}`)).json.waiting[0];
  return { ...started, callKey, inputHash };
}

/** A request of each route that it answers as described. */
export const requestsByRoute: {
  readonly [route: string]: (ask: Ask, rig: Rig) => Promise<{ readonly status: number }>;
} = {
  "GET /health": (ask) => ask("GET", "/health"),
  "GET /ready": (ask) => ask("GET", "/ready"),
  "GET /metrics": (ask) => ask("GET", "/metrics"),
  "GET /openapi.json": (ask) => ask("GET", "/openapi.json"),
  "GET /.well-known/oauth-protected-resource": (ask) => ask("GET", "/.well-known/oauth-protected-resource"),
  "GET /.well-known/oauth-protected-resource/mcp": (ask) => ask("GET", "/.well-known/oauth-protected-resource/mcp"),
  "GET /v1/agents": (ask) => ask("GET", "/v1/agents"),
  "GET /v1/sessions": async (ask) => {
    await beginSession(ask, "Go.");
    return ask("GET", "/v1/sessions?limit=1");
  },
  "POST /v1/sessions": (ask) => ask("POST", "/v1/sessions", { agent: "all", input: "Go." }),
  "GET /v1/sessions/{id}": async (ask) => ask("GET", `/v1/sessions/${(await beginSession(ask, "Pay.")).id}`),
  "DELETE /v1/sessions/{id}": async (ask) => {
    const { id } = await beginSession(ask, "Go.");
    await expect.poll(async () => (await ask("GET", `/v1/sessions/${id}`)).json.isHeld).toBe(false);
    return ask("DELETE", `/v1/sessions/${id}`);
  },
  "GET /v1/sessions/{id}/messages": async (ask) =>
    ask("GET", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/messages`),
  "POST /v1/sessions/{id}/redactions": async (ask) => {
    const { id } = await beginSession(ask, "Go to sk-1234567890.");
    await expect.poll(async () => (await ask("GET", `/v1/sessions/${id}`)).json.isHeld).toBe(false);
    return ask("POST", `/v1/sessions/${id}/redactions`, { text: "sk-1234567890" });
  },
  "GET /v1/sessions/{id}/label": async (ask) => ask("GET", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/label`),
  "POST /v1/sessions/{id}/label": async (ask) =>
    ask("POST", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/label`, { good: false, note: "Too short." }),
  "DELETE /v1/sessions/{id}/label": async (ask) =>
    ask("DELETE", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/label`),
  "GET /v1/schedules": async (ask) => {
    await putSchedule(ask);
    return ask("GET", "/v1/schedules?limit=1");
  },
  "GET /v1/schedules/{id}": async (ask) => {
    await putSchedule(ask);
    return ask("GET", "/v1/schedules/daily");
  },
  "PUT /v1/schedules/{id}": putSchedule,
  "DELETE /v1/schedules/{id}": async (ask) => {
    await putSchedule(ask);
    return ask("DELETE", "/v1/schedules/daily");
  },
  "GET /v1/schedules/{id}/slots": async (ask) => {
    await putSchedule(ask);
    await ask("POST", "/v1/schedules/daily/run", {});
    return ask("GET", "/v1/schedules/daily/slots");
  },
  "POST /v1/schedules/{id}/run": async (ask) => {
    await putSchedule(ask);
    return ask("POST", "/v1/schedules/daily/run", {});
  },
  "POST /v1/schedules/{id}/pause": async (ask) => {
    await putSchedule(ask);
    return ask("POST", "/v1/schedules/daily/pause", {});
  },
  "POST /v1/schedules/{id}/resume": async (ask) => {
    await putSchedule(ask);
    return ask("POST", "/v1/schedules/daily/resume", {});
  },
  "POST /v1/tick": (ask) => ask("POST", "/v1/tick", {}),
  "POST /v1/signals/{key}": (ask) => ask("POST", "/v1/signals/order-1041-paid", { value: { cents: 9_900 } }),
  "GET /v1/push": (ask) => ask("GET", "/v1/push"),
  "POST /v1/push/subscribe": subscribe,
  "POST /v1/push/unsubscribe": async (ask) => {
    await subscribe(ask);
    return ask("POST", "/v1/push/unsubscribe", { endpoint: browserEndpoint });
  },
  "GET /v1/evals": (ask) => ask("GET", "/v1/evals"),
  "GET /v1/evals/{name}": (ask) => ask("GET", "/v1/evals/all"),
  "POST /v1/sessions/{id}/fork": async (ask) =>
    ask("POST", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/fork`, {}),
  "POST /v1/sessions/{id}/runs": async (ask) =>
    ask("POST", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/runs`, { input: "More." }),
  "GET /v1/sessions/{id}/runs/{runId}": async (ask) => {
    const { id, runId } = await beginSession(ask, "Go.");
    return ask("GET", `/v1/sessions/${id}/runs/${runId}`);
  },
  "POST /v1/sessions/{id}/steer": async (ask) => {
    const { id } = await beginSession(ask, "Pay.");
    return ask("POST", `/v1/sessions/${id}/steer`, { input: "Hurry." });
  },
  "POST /v1/sessions/{id}/abort": async (ask) =>
    ask("POST", `/v1/sessions/${(await beginSession(ask, "Pay.")).id}/abort`, {}),
  "POST /v1/sessions/{id}/answers": async (ask) => {
    const { id, callKey, inputHash } = await beginWaitingSession(ask, "Pay.");
    return ask("POST", `/v1/sessions/${id}/answers`, { callKey, inputHash, decision: { type: "approve" } });
  },
  "POST /v1/sessions/{id}/results": async (ask) => {
    const { id, callKey } = await beginWaitingSession(ask, "Look.");
    return ask("POST", `/v1/sessions/${id}/results`, { callKey, output: "seen" });
  },
  "GET /v1/approvals/answered": async (ask) => ask("GET", "/v1/approvals/answered"),
  "GET /v1/approvals": async (ask) => {
    await beginSession(ask, "Pay.");
    return ask("GET", "/v1/approvals");
  },
  "GET /v1/sessions/{id}/events": async (ask) =>
    ask("GET", `/v1/sessions/${(await beginSession(ask, "Pay.")).id}/events`),
  "GET /v1/sessions/{id}/stream": async (ask) =>
    ask("GET", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/stream?until=run`),
  "GET /v1/stream": async (_, { url, token }) => {
    const connection = new AbortController();
    const headers = { authorization: `Bearer ${token}` };
    const { status } = await fetch(`${url}/v1/stream`, { headers, signal: connection.signal });
    connection.abort();
    return { status };
  },
  "GET /v1/sessions/{id}/entries": async (ask) =>
    ask("GET", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/entries`),
  "GET /v1/sessions/{id}/blobs/{hash}": async (ask, { store }) => {
    const { id } = await beginSession(ask, "Go.");
    return ask("GET", `/v1/sessions/${id}/blobs/${await store.putBlob(id, new Uint8Array([1, 2, 3]))}`);
  },
  "GET /v1/sessions/{id}/trace": async (ask) =>
    ask("GET", `/v1/sessions/${(await beginSession(ask, "Pay.")).id}/trace`),
  "GET /v1/sessions/{id}/steps": async (ask) =>
    ask("GET", `/v1/sessions/${(await beginSession(ask, "Pay.")).id}/steps`),
  "GET /v1/sessions/{id}/find": async (ask) => {
    const { id } = await beginSession(ask, "Hello");
    return ask("GET", `/v1/sessions/${id}/find?q=HELL`);
  },
  "GET /v1/sessions/{id}/requests/{runId}/{index}": async (ask) => {
    const { id, runId } = await beginSession(ask, "Go.");
    return ask("GET", `/v1/sessions/${id}/requests/${runId}/1`);
  },
  "POST /v1/sessions/{id}/replay": async (ask) =>
    ask("POST", `/v1/sessions/${(await beginSession(ask, "Go.")).id}/replay`, {}),
  "POST /v1/chat": (ask) =>
    ask("POST", "/v1/chat", {
      id: "c",
      messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Go." }] }],
    }),
  "GET /v1/chat/{chat}/stream": (ask) => ask("GET", "/v1/chat/never/stream"),
  "GET /v1/chat/{chat}/messages": (ask) => ask("GET", "/v1/chat/never/messages"),
  "POST /v1/agui/{agent}": (ask) =>
    ask("POST", "/v1/agui/all", { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "Go." }] }),
  "POST /mcp": (ask) =>
    ask(
      "POST",
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" },
    ),
  "GET /.well-known/agent-card.json": (ask) => ask("GET", "/.well-known/agent-card.json"),
  "POST /a2a": (ask) =>
    ask("POST", "/a2a", { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} }, { "a2a-version": "1.0" }),
  "POST /v1/ui/session": (ask, { server }) => ask("POST", "/v1/ui/session", { code: server.createStartCode() }),
  "GET /v1/ui/proof": (ask) => ask("GET", `/v1/ui/proof?nonce=${"0".repeat(32)}`),
  "POST /v1/ui/codes": (ask) => ask("POST", "/v1/ui/codes", {}),
};
