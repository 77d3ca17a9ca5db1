/**
 * The chat of the AI SDK, AG-UI, results and replays on a process that does not hold the session: another one, over the
 * same file, carries it out. The words come over the link between them.
 */
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createProcesses, type ServerProcess, words } from "./processes-rig.js";

// biome-ignore lint/suspicious/noExplicitAny: the events of two protocols
type Told = any;

/** A stream of one of the protocols. */
type Stream = {
  /** Resolves when it is so of what has come; rejects if the stream ends before. */
  readonly until: (isSo: (told: readonly Told[]) => boolean) => Promise<readonly Told[]>;
  /** Resolves with all, at the end of the stream. */
  readonly end: Promise<readonly Told[]>;
};

async function stream(at: ServerProcess, method: "GET" | "POST", path: string, body?: unknown): Promise<Stream> {
  const response = await fetch(`${at.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${at.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  const read = async () => {
    let rest = "";
    for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const lines = `${rest}${text}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.startsWith("data: ") && line !== "data: [DONE]") told.push(JSON.parse(line.slice(6)));
      for (const look of [...waiting]) look();
    }
    return told;
  };
  const end = read();
  end.catch(() => {});
  return {
    end,
    until: (isSo) =>
      Promise.race([
        new Promise<readonly Told[]>((resolve) => {
          const look = () => {
            if (!isSo(told)) return;
            waiting.delete(look);
            resolve(told);
          };
          waiting.add(look);
          look();
        }),
        end.then((all) => {
          if (isSo(all)) return all;
          throw new Error(`The stream ended: ${JSON.stringify(all.at(-1))}`);
        }),
      ]),
  };
}

const chat = "chat-1";
const ui = {
  text: (told: readonly Told[]) =>
    told
      .filter(({ type }) => type === "text-delta")
      .map(({ delta }) => delta)
      .join(""),
  say: (at: ServerProcess, text: string, more: object = {}) =>
    stream(at, "POST", "/v1/chat", {
      id: chat,
      messages: [{ id: `m-${text}`, role: "user", parts: [{ type: "text", text }] }],
      ...more,
    }),
  /** Answers the call that waits, as the page does with its last message. */
  answer: (at: ServerProcess, { toolCallId, toolName, input }: Told, more: object) =>
    stream(at, "POST", "/v1/chat", {
      id: chat,
      messages: [
        { id: "a", role: "assistant", parts: [{ type: "dynamic-tool", toolName, toolCallId, input, ...more }] },
      ],
    }),
};
const agui = {
  text: (told: readonly Told[]) =>
    told
      .filter(({ type }) => type === "TEXT_MESSAGE_CONTENT")
      .map(({ delta }) => delta)
      .join(""),
  say: (at: ServerProcess, text: string, runId = `r-${text}`) =>
    stream(at, "POST", "/v1/agui/talker", {
      threadId: chat,
      runId,
      messages: [{ id: `m-${text}`, role: "user", content: text }],
    }),
};

const protocols = [
  { name: "the chat of the AI SDK", ...ui },
  { name: "AG-UI", ...agui },
] as const;

const whole = words.join("");
/** What is shown when the model is about to say a word: the last one may be the beginning of a secret. */
const shownAt = (index: number) => words.slice(0, index - 1).join("");

describe.each(protocols)("$name, at a process that does not hold the session", ({ say, text }) => {
  test.each([
    ["with the agent", {}],
    ["that works, too", { work: true }],
  ])("%s, tells the words as they come", verifies("SRV-3", "PROT-1", "PROT-2"), async (_, options) => {
    const processes = await createProcesses();
    const holder = await processes.start({ stops: [20] });
    const begun = await say(holder, "talk");
    await holder.stands(20);
    // Another process starts while the session is held.
    const other = await processes.start({ work: false, ...options });
    const joined = await say(other, "talk");
    await joined.until((told) => text(told).startsWith(shownAt(20)));
    await begun.until((told) => text(told).startsWith(shownAt(20)));
    holder.go();
    for (const one of [begun, joined]) expect(text(await one.end)).toBe(whole);
  });

  test("posts to it, and is told the words of the process that takes it", verifies("SRV-3"), async () => {
    const processes = await createProcesses();
    const other = await processes.start({ work: false });
    const holder = await processes.start({ stops: [20, 40] });
    const posted = await say(other, "work");
    for (const stop of [20, 40]) {
      await holder.stands(stop);
      await posted.until((told) => text(told).includes(shownAt(stop)));
      holder.go();
    }
    expect(text(await posted.end)).toBe(`I look. ${whole}`);
  });

  test("goes on when the holder is killed, and tells the step that is repeated", verifies("SRV-3"), async () => {
    const processes = await createProcesses();
    const other = await processes.start({ work: false });
    const holder = await processes.start({ stops: [20] });
    const posted = await say(other, "talk");
    await holder.stands(20);
    await posted.until((told) => text(told).startsWith(shownAt(20)));
    await holder.kill();
    const next = await processes.start({ stops: [30] });
    await next.stands(30);
    await posted.until((told) => text(told).includes(shownAt(30)));
    next.go();
    expect(text(await posted.end).endsWith(whole)).toBe(true);
  });
});

describe("a page of the AI SDK's chat", () => {
  test("that comes back is told the whole message, wherever it is held", verifies("SRV-3", "PROT-1"), async () => {
    const processes = await createProcesses();
    const [holder, other] = await Promise.all([processes.start({ stops: [20] }), processes.start({ work: false })]);
    await ui.say(other, "talk");
    await holder.stands(20);
    const back = await stream(other, "GET", `/v1/chat/${chat}/stream`);
    await back.until((told) => ui.text(told).startsWith(shownAt(20)));
    holder.go();
    expect(ui.text(await back.end)).toBe(whole);
    expect((await other.ask("GET", `/v1/chat/${chat}/stream`)).status).toBe(204);
    const { messages } = (await other.ask("GET", `/v1/chat/${chat}/messages`)).json;
    expect(messages.at(-1)).toMatchObject({ role: "assistant", parts: expect.anything() });
  });

  test("that comes back before anybody has taken its request is told the run, too", verifies("PROT-1"), async () => {
    const processes = await createProcesses();
    const other = await processes.start({ work: false });
    await ui.say(other, "talk");
    const back = await stream(other, "GET", `/v1/chat/${chat}/stream`);
    await processes.start();
    expect(ui.text(await back.end)).toBe(whole);
  });

  test("is served by a process without the agent, which it names", verifies("SRV-3", "PROT-1"), async () => {
    const processes = await createProcesses();
    const [holder, other] = await Promise.all([
      processes.start({ stops: [20] }),
      processes.start({ work: false, agents: false }),
    ]);
    const posted = await ui.say(other, "talk", { agent: "talker" });
    await holder.stands(20);
    await posted.until((told) => ui.text(told).startsWith(shownAt(20)));
    holder.go();
    expect(ui.text(await posted.end)).toBe(whole);
  });

  test("answers a call, and gives the result of one that runs elsewhere", verifies("PROT-1"), async () => {
    const processes = await createProcesses();
    const [, other] = await Promise.all([processes.start(), processes.start({ work: false })]);
    const asked = await (await ui.say(other, "pay")).end;
    const call = asked.find(({ type }) => type === "tool-input-available");
    const paid = await ui.answer(other, call, { state: "approval-responded", approval: { id: "x", approved: true } });
    expect(ui.text(await paid.end)).toBe(whole);
    const ringing = await (await ui.say(other, "ring")).end;
    const bell = ringing.find(({ type }) => type === "tool-input-available");
    const rung = await ui.answer(other, bell, { state: "output-available", output: "rung" });
    expect(ui.text(await rung.end)).toBe(whole);
  });
});

test(
  "a result and a replay are taken by a process that does not hold the session",
  verifies("SRV-3", "SRV-2#processes"),
  async () => {
    const processes = await createProcesses();
    const [holder, other] = await Promise.all([processes.start({ stops: [20] }), processes.start({ work: false })]);
    const begun = await other.ask("POST", "/v1/sessions", { agent: "talker", input: "ring" });
    const { sessionId, runId } = begun.json as { readonly sessionId: string; readonly runId: string };
    const path = `/v1/sessions/${sessionId}`;
    expect((await other.ask("GET", `${path}/runs/${runId}?wait=30`)).json).toMatchObject({ status: "awaiting_human" });
    const { waiting } = (await other.ask("GET", path)).json;
    const { callKey } = waiting[0];
    const results = await Promise.all(
      [holder, other].map((one) => one.ask("POST", `${path}/results`, { callKey, output: { rung: true } })),
    );
    expect(results.map(({ json }) => json.counted).toSorted()).toEqual(["first", "second"]);
    await holder.stands(20);
    // The holder streams; the other one reads the log as it is, and writes nothing.
    expect((await other.ask("POST", `${path}/replay`, {})).json).toMatchObject({ replay: { difference: null } });
    const before = (await processes.log(sessionId)).length;
    holder.go();
    expect((await other.ask("GET", `${path}/runs/${runId}?wait=30`)).json).toMatchObject({ status: "completed" });
    expect((await other.ask("POST", `${path}/replay`, {})).json).toMatchObject({ replay: { difference: null } });
    expect((await processes.log(sessionId)).length).toBeGreaterThan(before);
  },
);
