/**
 * A client that follows one run to its end, over connections that are cut: after so many bytes, or between two frames. Each
 * connection goes to another server.
 */
import { setTimeout as pause } from "node:timers/promises";
import { followSession } from "pawl/server/client";
import { wordsOf } from "./agent.mjs";

/** How long no server may answer, in milliseconds. */
const longestMs = 30_000;

/**
 * @param {{ random: object, ports: readonly number[], token: string, seed: number, sessionId: string, runId: string,
 *   cuts: "bytes" | "frames" | "none", onQuestion: () => void }} given
 * @returns {Promise<{ events: readonly object[], cuts: number, types: ReadonlySet<string> }>}
 * @throws Error if it is told what does not fit
 */
export async function watchCut({ random, ports, token, seed, sessionId, runId, cuts, onQuestion }) {
  const events = [];
  const types = new Set();
  const count = { cuts: 0 };
  const path = `/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`;
  const headers = { authorization: `Bearer ${token}` };
  // With "frames", each connection gives one frame more than the one before: so each boundary is one of the cuts.
  let frames = 2;
  const reach = async (_, init) => {
    const response = await ofAnyServer(random, ports, path, init);
    if (cuts === "none" || count.cuts >= 60) return response;
    frames += 1;
    const limit = cuts === "frames" ? { frames } : { bytes: random.whole(1, 12_000) };
    return cutAfter(response, limit, () => (count.cuts += 1));
  };
  let text = "";
  for await (const { frame, applied, view } of followSession({ url: path, headers, fetch: reach, retryMs: 5 })) {
    const { data } = frame;
    types.add(data.type);
    if (data.type === "reset") throw new Error("the stream said reset");
    if (applied === "event") events.push(data);
    if (data.type === "message") checkMessage({ seed, sessionId }, data, text);
    if (data.type === "suspended" || data.type === "approval_requested") onQuestion();
    text = textOfPartial({ seed, sessionId }, view.partial());
  }
  return { events, cuts: count.cuts, types };
}

/** A server that drains or is down sends the client to another one. */
async function ofAnyServer(random, ports, path, init) {
  const until = performance.now() + longestMs;
  while (performance.now() < until) {
    try {
      const response = await fetch(`http://127.0.0.1:${random.one(ports)}${path}`, init);
      if (response.status !== 503) return response;
      await response.body?.cancel();
    } catch (error) {
      if (init.signal.aborted) throw error;
    }
    await pause(10);
  }
  throw new Error(`no server answered within ${longestMs / 1_000} s`);
}

function cutAfter(response, { frames = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY }, onCut) {
  let seen = 0;
  let passed = 0;
  const transform = new TransformStream({
    transform(chunk, controller) {
      for (let index = 1; index < chunk.length; index += 1) {
        if (chunk[index] === 10 && chunk[index - 1] === 10) seen += 1;
        if (seen < frames && passed + index < bytes) continue;
        onCut();
        controller.enqueue(chunk.subarray(0, index + 1));
        return controller.error(new Error("cut"));
      }
      passed += chunk.length;
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(transform), { status: response.status, headers: response.headers });
}

function textOfPartial(of, partial) {
  if (partial === null) return "";
  const text = textOf(partial.message);
  if (!saidIn(of, partial).startsWith(text)) throw new Error(`it holds "${text}", which nobody has said`);
  return text;
}

function checkMessage(of, event, before) {
  const whole = textOf(event.message);
  if (whole !== saidIn(of, event)) throw new Error(`the message of step ${event.modelCallIndex} is not what was said`);
  if (!whole.startsWith(before)) throw new Error(`it held "${before}" before the message "${whole}"`);
}

function saidIn(of, { runId, modelCallIndex }) {
  return wordsOf({ ...of, runId, modelCallIndex }).join("");
}

function textOf({ parts }) {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
