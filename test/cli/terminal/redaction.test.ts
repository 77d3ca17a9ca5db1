import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTerminalRedaction, listSecrets } from "../../../src/cli/terminal/redaction.js";
import type { MessageDelta, StreamItem } from "../../../src/index.js";
import { safeLength } from "../../../src/runtime/agent/stream-redaction.js";
import { verifies } from "../../verifies.js";
import { createWorld, parseJsonLines } from "../pawl.js";

const proven = verifies("TRC-2", "SEC-14");
const letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3";
const ownSecret = "correct horse battery";
/** Holds everything that JSON escapes. */
const oddSecret = 'pass"word\\with\ttabs\nand é lines';
const environment = { LAB_API_KEY: ownSecret, ODD_SECRET: oddSecret, HOME: "/home/somebody", TOKEN: "short" };

const known = { redact: createTerminalRedaction(environment).text, secrets: [ownSecret, oddSecret] };
const escapeOnce = (text: string) => JSON.stringify(text).slice(1, -1);
const inAscii = (text: string) =>
  text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const ids = { runId: "r", modelCallIndex: 1, attempt: 1 };

/** The items of a text part that is streamed in these pieces. */
function deltasOf(pieces: readonly string[]): readonly MessageDelta[] {
  return [
    { ...ids, seq: 1, kind: "start" },
    { ...ids, seq: 2, kind: "text-start", id: "t" },
    ...pieces.map((text, index): MessageDelta => ({ ...ids, seq: 3 + index, kind: "text-delta", id: "t", text })),
    { ...ids, seq: 3 + pieces.length, kind: "text-end", id: "t" },
  ];
}

function shownOf(items: readonly StreamItem[]): readonly MessageDelta[] {
  const pass = createTerminalRedaction(environment).stream();
  return items.flatMap((item) => pass(item)).flatMap((item) => (item.type === "delta" ? [item.delta] : []));
}

const textOf = (deltas: readonly MessageDelta[]) =>
  deltas.map((delta) => (delta.kind === "text-delta" ? delta.text : "")).join("");

const word = fc.constantFrom(
  ...[`sk-ant-${letters}`, `Bearer ${letters}`, `Basic ${letters}`, "Bearer", "Basic", "https://ada:horse@example.org"],
  ...[
    "http://用户:密码@例子",
    `-----BEGIN RSA PRIVATE KEY-----\n${letters}\n${letters}\n-----END RSA PRIVATE KEY-----`,
  ],
  ...[
    "-----BEGIN CERTIFICATE-----",
    ownSecret,
    "correct horse",
    "AKIAIOSFODNN7EXAMPLE",
    `xoxb-${letters}`,
    "sk-",
    "://",
  ],
  ...[
    oddSecret,
    escapeOnce(oddSecret),
    escapeOnce(escapeOnce(oddSecret)),
    inAscii(escapeOnce(oddSecret)),
    "pass",
    "\\",
  ],
  ...[`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.${letters}`, "plain", "文字", "é", "😀", "a:b@c", "\ud83d"],
);
const gap = fc.constantFrom(" ", "\n", "", "  ", "，", "\t", '"');

describe("streamed text", proven, () => {
  test("joined, is the whole text redacted, however it is cut", () => {
    const redact = createTerminalRedaction(environment).text;
    const text = fc.array(fc.tuple(word, gap), { maxLength: 12 }).map((words) => words.flat().join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 9 })), (whole, lengths) => {
        const pieces: string[] = [];
        let at = 0;
        for (const length of [...lengths, whole.length]) {
          pieces.push(whole.slice(at, at + length));
          at += length;
        }
        const given = deltasOf(pieces);
        const shown = shownOf(given.map((delta) => ({ type: "delta", delta })));
        expect(textOf(shown)).toBe(redact(whole));
        expect(shown.map(({ seq, kind }) => [seq, kind])).toEqual(given.map(({ seq, kind }) => [seq, kind]));
      }),
      { numRuns: 300 },
    );
  });

  test("joined, is the whole text redacted, if deltas that waited come as one", () => {
    const redact = createTerminalRedaction(environment).text;
    const text = fc.array(fc.tuple(word, gap), { maxLength: 8 }).map((words) => words.flat().join(""));
    const cuts = fc.array(fc.tuple(fc.nat({ max: 30 }), fc.integer({ min: 1, max: 4 })), { maxLength: 12 });
    fc.assert(
      fc.property(text, cuts, (whole, pieces) => {
        const pass = createTerminalRedaction(environment).stream();
        const shown: StreamItem[] = [
          ...pass({ type: "delta", delta: { ...ids, seq: 1, kind: "text-start", id: "t" } }),
        ];
        let [at, seq] = [0, 1];
        for (const [length, n] of [...pieces, [whole.length, 1] as const]) {
          seq += n;
          const piece = whole.slice(at, at + length);
          shown.push(...pass({ type: "delta", n, delta: { ...ids, seq, kind: "text-delta", id: "t", text: piece } }));
          at += length;
        }
        shown.push(...pass({ type: "delta", delta: { ...ids, seq: seq + 1, kind: "text-end", id: "t" } }));
        const deltas = shown.flatMap((item) => (item.type === "delta" ? [item] : []));
        expect(textOf(deltas.map(({ delta }) => delta))).toBe(redact(whole));
        let last = 0;
        for (const { delta, n = 1 } of deltas) {
          expect(delta.seq - n).toBe(last);
          last = delta.seq;
        }
        expect(last).toBe(seq + 1);
      }),
      { numRuns: 300 },
    );
  });

  test("is shown at once, except for the number of its last delta", () => {
    const pass = createTerminalRedaction(environment).stream();
    const say = (seq: number, text: string, n = 1) =>
      pass({ type: "delta", n, delta: { ...ids, seq, kind: "text-delta", id: "t", text } });
    expect(say(3, "Let me ")).toEqual([]);
    expect(say(4, "look. ")).toMatchObject([{ n: 1, delta: { seq: 3, text: "Let me look. " } }]);
    expect(say(5, "Bearer ")).toMatchObject([{ delta: { seq: 4, text: "" } }]);
    expect(say(8, "of the key sk", 3)).toMatchObject([{ delta: { seq: 5, text: "Bearer of the key " } }]);
    expect(pass({ type: "delta", delta: { ...ids, seq: 9, kind: "text-end", id: "t" } })).toMatchObject([
      { n: 3, delta: { seq: 8, text: "sk" } },
      { delta: { seq: 9 } },
    ]);
  });

  test.each([
    { name: "raw", written: oddSecret },
    { name: "as JSON", written: escapeOnce(oddSecret) },
    { name: "as JSON in JSON", written: escapeOnce(escapeOnce(oddSecret)) },
    { name: "as JSON in ASCII", written: inAscii(escapeOnce(oddSecret)) },
    { name: "as JSON in ASCII, in JSON", written: escapeOnce(inAscii(escapeOnce(oddSecret))) },
  ])("hides a secret that is written $name, cut at every position", ({ written }) => {
    const whole = `{"command":"echo ${written} > /dev/null"}`;
    const shown = (pieces: readonly string[]) =>
      textOf(shownOf(deltasOf(pieces).map((delta) => ({ type: "delta", delta }))));
    const wanted = '{"command":"echo [redacted] > /dev/null"}';
    for (let at = 0; at <= whole.length; at += 1) {
      expect(shown([whole.slice(0, at), whole.slice(at)])).toBe(wanted);
      expect(shown([whole.slice(0, at), ...whole.slice(at).split("")])).toBe(wanted);
    }
  });

  test("is held back only if a secret may have begun", () => {
    for (const text of ["Hello ", "你好", "All is well.\n", "Basically ", "see https://example.org/a "])
      expect(safeLength(text, known)).toBe(text.length);
    expect(safeLength("The key is sk-an", known)).toBe("The key is ".length);
    expect(safeLength("Use Bearer ", known)).toBe("Use ".length);
    expect(safeLength("-----BEGIN PRIVATE KEY-----\nabc\n", known)).toBe(0);
    expect(safeLength("-----BEGIN PRIVATE KEY-----\nabc def!", known)).toBe(0);
    expect(safeLength("by correct horse ba", known)).toBe("by ".length);
    expect(safeLength('by pass\\"word\\\\', known)).toBe("by ".length);
    expect(safeLength("by pass\\u0022wo", known)).toBe("by ".length);
    expect(safeLength("C:\\Users ", known)).toBe("C:\\Users ".length);
  });

  test("is shown whole when something else follows it, even if its end comes later", () => {
    const given: readonly MessageDelta[] = [
      ...deltasOf(["Let me lo", "ok."]).slice(0, -1),
      { ...ids, seq: 6, kind: "tool-input-start", id: "c", name: "look" },
      { ...ids, seq: 7, kind: "tool-input-delta", id: "c", text: '{"a":' },
      { ...ids, seq: 8, kind: "tool-input-delta", id: "c", text: "1}" },
      { ...ids, seq: 9, kind: "tool-input-end", id: "c" },
      { ...ids, seq: 10, kind: "text-end", id: "t" },
    ];
    const shown = shownOf(given.map((delta) => ({ type: "delta", delta })));
    expect(textOf(shown)).toBe("Let me look.");
    expect(shown.map(({ seq }) => seq)).toEqual(given.map(({ seq }) => seq));
    expect(shown.flatMap((delta) => (delta.kind === "tool-input-delta" ? delta.text : [])).join("")).toBe('{"a":1}');
  });

  test("does not delay other items", () => {
    const pass = createTerminalRedaction({}).stream();
    const note: StreamItem = { type: "progress", callKey: "r/1/1", note: "half done" };
    const items = [...deltasOf(["Let me lo"]).slice(0, -1)].flatMap((delta) => pass({ type: "delta", delta }));
    expect([...items, ...pass(note)].at(-1)).toEqual(note);
    const [rest] = pass({ type: "delta", delta: { ...ids, seq: 4, kind: "text-end", id: "t" } });
    expect(rest).toMatchObject({ delta: { seq: 3, text: "Let me lo" } });
  });

  test("is shown even if it is one endless word", () => {
    expect(safeLength("x".repeat(24_001), known)).toBe(24_001);
  });

  test("continues from a snapshot whose open part may end in half a secret", () => {
    const secret = `sk-ant-${letters}`;
    const pass = createTerminalRedaction({}).stream();
    const items = [
      ...pass({
        type: "snapshot",
        ...ids,
        deltaSeq: 3,
        message: {
          role: "assistant",
          parts: [
            { type: "text", text: `Done ${secret}` },
            { type: "text", text: `Key ${secret.slice(0, 20)}` },
          ],
        },
        open: [{ id: "t", type: "text", index: 1 }],
        inputs: [{ id: "c", name: "send", text: `{"key":"${secret.slice(0, 20)}` }],
      }),
      ...pass({ type: "delta", delta: { ...ids, seq: 4, kind: "tool-input-delta", id: "c", text: secret.slice(20) } }),
      ...pass({ type: "delta", delta: { ...ids, seq: 5, kind: "text-delta", id: "t", text: secret.slice(20) } }),
      ...pass({ type: "delta", delta: { ...ids, seq: 6, kind: "text-end", id: "t" } }),
    ];
    const [snapshot, ...others] = items;
    expect(snapshot).toMatchObject({
      deltaSeq: 2,
      message: { parts: [{ text: "Done sk-ant-[redacted]" }, { text: "Key " }] },
    });
    const deltas = others.flatMap((item) => (item.type === "delta" ? [item.delta] : []));
    const textOf = (kind: string) =>
      deltas.flatMap((delta) => ("text" in delta && delta.kind === kind ? [delta.text] : [])).join("");
    expect(textOf("tool-input-delta")).toBe('{"key":"sk-ant-[redacted]');
    expect(textOf("text-delta")).toBe("sk-ant-[redacted]");
    // What the snapshot holds back has a number of its own.
    expect(deltas.map(({ seq }) => seq)).toEqual([3, 4, 5, 6]);
  });

  test("of an abandoned attempt does not appear in the next one", () => {
    const [start, ...rest] = deltasOf(["Again."]);
    const given: StreamItem[] = deltasOf(["Half a wor"])
      .slice(0, -1)
      .map((delta) => ({ type: "delta", delta }));
    for (const delta of [start, ...rest])
      if (delta !== undefined) given.push({ type: "delta", delta: { ...delta, attempt: 2 } });
    expect(textOf(shownOf(given).filter((delta) => delta.attempt === 2))).toBe("Again.");
  });
});

test("secrets are known by the names of their variables if they are long enough", proven, () => {
  expect(
    listSecrets({
      ANTHROPIC_API_KEY: "12345678",
      DB_PASSWORD: "hunter2-hunter2",
      GITHUB_TOKEN: "abcdefgh",
      AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI",
      TOKEN: "short",
      KEYBOARD: "de-latin1-nodeadkeys",
      SSH_AUTH_SOCK: "/run/agent.sock",
      GONE_SECRET: undefined,
    }),
  ).toEqual(["12345678", "hunter2-hunter2", "abcdefgh", "wJalrXUtnFEMI"]);
});

describe("the command line shows no secret", proven, () => {
  const byShape = `sk-ant-${letters}`;
  const byValue = "the-password-of-the-lab";
  const env = { LAB_PASSWORD: byValue, ODD_SECRET: oddSecret };
  const task = `Say ${byShape} and ${byValue} and ${oddSecret} and ${JSON.stringify({ a: oddSecret })}`;

  test("in a run, in its listings and in its log, except with --raw", async () => {
    const { pawl } = createWorld({});
    const shown = [
      await pawl(["run", task, "--session", "secret"], { env }),
      await pawl(["run", task, "--session", "secret", "--json"], { env }),
      ...(await Promise.all(
        [
          ["sessions"],
          ["sessions", "--json"],
          ["sessions", "show", "secret"],
          ["sessions", "show", "secret", "--json"],
          ["sessions", "export", "secret"],
          ["trace", "secret"],
          ["trace", "secret", "--json", "--content"],
          ["resume", `nothing-${byShape}`],
        ].map((args) => pawl(args, { env })),
      )),
    ];
    for (const { stdout, stderr } of shown) {
      const text = stdout + stderr;
      expect(text).not.toContain(letters);
      expect(text).not.toContain(byValue);
      expect(text).not.toMatch(/pass.{1,8}word/);
    }
    expect(shown[4]?.stdout).toContain("[redacted]");
    for (const at of [1, 3, 5, 6, 8]) expect(parseJsonLines(shown[at]?.stdout ?? "").length).toBeGreaterThan(0);
    const raw = await pawl(["sessions", "export", "secret", "--raw"], { env });
    expect(raw.stdout).toContain(byShape);
    expect(raw.stdout).toContain(byValue);
  });

  test("but a call that a person is asked to approve is shown as it would run", verifies("SEC-6"), async () => {
    const { pawl } = createWorld({});
    const command = `curl -H "x-key: ${byShape}" localhost`;
    const run = await pawl(["run", `run: ${command}`, "--allow-shell", "--park", "--session", "asks"]);
    expect(run.code).toBe(3);
    expect(run.stdout + run.stderr).not.toContain(letters);
    expect((await pawl(["approvals", "asks"])).stdout).toContain(byShape);
    expect((await pawl(["approvals", "asks", "--json"])).stdout).toContain(byShape);
  });
});
