/**
 * One client of the chaos test: it begins sessions, sends, watches, answers, steers and aborts, each time at another server.
 * Its decisions come from its own sequence; how long it watches is counted in frames.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createStreamView, readFrames } from "pawl/server/client";
import { createRandom } from "./random.mjs";

/** A request is given up after so long, and asked of another server, in milliseconds. */
const requestMs = 30_000;
/** If no server answers for so long, something is wrong. */
const longestMs = 4 * requestMs;
const pauseMs = 25;

/**
 * @param {{ seed: number, index: number, world: World, isOver: () => boolean }} given `world` is what all clients share
 * @typedef {{ ports: readonly number[], token: string, sessions: Set<string>, fail: (what: string) => void }} World
 */
export function createClient({ seed, index, world, isOver }) {
  const random = createRandom(seed, "client", index);
  const headers = { authorization: `Bearer ${world.token}` };
  /** Of each session that it has watched: what a client holds, and the events that came. */
  const watched = new Map();
  const done = { runs: [], steers: [], answers: [], aborts: 0, drops: 0, frames: 0, peerDeltas: 0, reconnects: 0 };
  let count = 0;

  const url = (path) => `http://127.0.0.1:${random.one(world.ports)}${path}`;

  /** The answer of any server that gives one; null if that takes too long. `once`: what may have happened is not tried again. */
  async function ask(method, path, body, more = {}, once = false) {
    const until = performance.now() + longestMs;
    do {
      try {
        const response = await fetch(url(path), {
          method,
          headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }), ...more },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(requestMs),
        });
        const text = await response.text();
        if (response.status === 500) world.fail(`${method} ${path} gave 500: ${text}`);
        const json = text === "" ? null : JSON.parse(text);
        // A server that drains or has no room sends the client elsewhere; nothing has happened.
        if (response.status !== 503) return { status: response.status, json };
        if (once && json.error.code === "store_failed") return null;
      } catch (error) {
        if (error instanceof SyntaxError) world.fail(`${method} ${path}: ${error.message}`);
        if (once) return null;
      }
      await pause(pauseMs);
    } while (performance.now() < until);
    world.fail(`no server answered ${method} ${path} within ${longestMs / 1_000} s`);
    return null;
  }

  async function begin() {
    count += 1;
    const sessionId = `s${index}-${count}`;
    const body = { agent: "chaos", input: `begin ${sessionId}`, sessionId };
    const runId = `${sessionId}-r`;
    const answer = await ask("POST", "/v1/sessions", body, { "idempotency-key": runId });
    if (answer === null) return;
    if (answer.status !== 201 || answer.json.runId !== runId)
      return world.fail(`a session could not begin: ${JSON.stringify(answer)}`);
    done.runs.push({ sessionId, runId: answer.json.runId, text: body.input });
    world.sessions.add(sessionId);
  }

  async function send() {
    const sessionId = random.one([...world.sessions]);
    count += 1;
    const runId = `r${index}-${count}`;
    const input = `send ${runId}`;
    // It is said twice now and then, as by a client that has lost its answer.
    const times = random.isTrue(0.3) ? 2 : 1;
    const path = `/v1/sessions/${sessionId}/runs`;
    const answers = await Promise.all(
      Array.from({ length: times }, () => ask("POST", path, { input }, { "idempotency-key": runId })),
    );
    if (answers.every((answer) => answer?.status === 202)) done.runs.push({ sessionId, runId, text: input });
    else if (answers.some((answer) => answer !== null && answer.status !== 202))
      world.fail(`a run was refused: ${JSON.stringify(answers)}`);
  }

  async function steer() {
    const sessionId = random.one([...world.sessions]);
    count += 1;
    const text = `steer ${index}-${count}`;
    const answer = await ask("POST", `/v1/sessions/${sessionId}/steer`, { input: text }, {}, true);
    done.steers.push({ sessionId, text, isTaken: answer?.status === 204 });
  }

  async function abort() {
    const sessionId = random.one([...world.sessions]);
    const answer = await ask("POST", `/v1/sessions/${sessionId}/abort`, { note: `by client ${index}` });
    if (answer?.json?.outcome === "asked") done.aborts += 1;
  }

  /** Two clients may answer the same call at the same time: one answer counts. */
  async function answer() {
    const found = await ask("GET", "/v1/approvals?limit=20");
    const approvals = found?.json?.approvals ?? [];
    if (approvals.length === 0) return;
    await give(random.one(approvals), random.isTrue(0.7));
  }

  async function give({ sessionId, callKey, why, inputHash, questionId }, isYes) {
    const decision = decisionOf(why, isYes);
    const body = { callKey, decision, ...(questionId === undefined ? { inputHash } : { questionId }) };
    const answered = await ask("POST", `/v1/sessions/${sessionId}/answers`, body);
    if (answered?.status === 200)
      done.answers.push({ sessionId, callKey, questionId, type: decision.type, counted: answered.json.counted });
  }

  /** Reads so many frames of a stream, and drops the connection. */
  async function watch(sessionId = random.one([...world.sessions]), frames = random.whole(1, 120), isEnough = null) {
    const own = watched.get(sessionId) ?? { view: createStreamView(), events: [], live: "none" };
    watched.set(sessionId, own);
    const connection = new AbortController();
    const last = own.view.lastId();
    try {
      const response = await fetch(url(`/v1/sessions/${sessionId}/stream`), {
        headers: { ...headers, ...(last === null ? {} : { "last-event-id": last }) },
        signal: AbortSignal.any([connection.signal, AbortSignal.timeout(requestMs)]),
      });
      if (!response.ok) {
        if (response.status !== 503) world.fail(`a stream was refused with ${response.status}`);
        return await pause(pauseMs);
      }
      let left = frames;
      for await (const frame of readFrames(response.body)) {
        if (frame !== null) {
          if (!take(own, frame, sessionId)) break;
          done.frames += 1;
        }
        left -= 1;
        if (left === 0 || isEnough?.(own) === true) break;
      }
    } catch {
      // A server that was killed: the client comes back to another one.
      await pause(pauseMs);
    } finally {
      connection.abort();
      done.drops += 1;
    }
  }

  /** Whether the client reads on. */
  function take(own, frame, sessionId) {
    const before = own.view.partial();
    const applied = own.view.apply(frame);
    if (frame.data.type === "reset") world.fail(`${sessionId}: the stream said reset`);
    if ("live" in frame.data) own.live = frame.data.live;
    if (applied === "partial" && own.live === "peer") done.peerDeltas += 1;
    if (applied === "reconnect") done.reconnects += 1;
    if (applied === "event") {
      own.events.push(frame);
      if (frame.data.type === "message") checkPartial(before, frame.data, sessionId);
    }
    return applied !== "reconnect" && frame.data.type !== "bye";
  }

  /** What a client has put together of a message is how the committed one begins. */
  function checkPartial(partial, { runId, modelCallIndex, attempt, message }, sessionId) {
    if (partial === null || partial.runId !== runId) return;
    if (partial.modelCallIndex !== modelCallIndex || partial.attempt !== attempt) return;
    const whole = textOf(message);
    const part = textOf(partial.message);
    if (!whole.startsWith(part)) world.fail(`${sessionId}: a client put together "${part}" of "${whole}"`);
  }

  async function act() {
    if (world.sessions.size === 0 || random.isTrue(0.08)) return await begin();
    const kind = random.next();
    if (kind < 0.55) return await watch();
    if (kind < 0.7) return await send();
    if (kind < 0.88) return await answer();
    if (kind < 0.95) return await steer();
    return await abort();
  }

  return {
    done,
    watched,
    ask,
    give,
    watch,
    async run() {
      while (!isOver()) await act();
    },
  };
}

export function decisionOf(why, isYes) {
  if (why === "recovery") return { type: isYes ? "rerun" : "fail" };
  if (why === "tool") return isYes ? { type: "reply", value: 7 } : { type: "decline" };
  return { type: isYes ? "approve" : "deny" };
}

function textOf({ parts }) {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
