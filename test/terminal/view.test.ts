import { describe, expect, test } from "vitest";
import { renderStatusLine } from "../../src/cli/conversation/fronts/status-line.js";
import { loadHighlighting } from "../../src/cli/conversation/lines/highlight.js";
import type { AgentItem } from "../../src/cli/conversation/view/show-agent.js";
import { createView, type View } from "../../src/cli/conversation/view/view.js";
import { lineOf, paint, toPlainText } from "../../src/cli/screen/line.js";
import { createAgent, createClient, createMemoryStore, type StreamItem, type Tool } from "../../src/index.js";
import { createScriptedModel, createTestClock, type Script } from "../../src/testing/index.js";
import { createShellTool } from "../../src/tools/index.js";
import { verifies } from "../verifies.js";
import { escapes } from "./escapes.js";

await loadHighlighting();

const tools: readonly Tool[] = [
  {
    name: "shell",
    description: "Runs a command.",
    input: { type: "object", properties: { command: { type: "string" } } },
    execute: (input) =>
      `${Array.from({ length: 20 }, (_, at) => `line ${at + 1}`).join("\n")}\n${(input as { readonly command: string }).command}`,
  },
  {
    name: "edit_file",
    description: "Edits a file.",
    input: { type: "object" },
    needsApproval: true,
    execute: () => "Replaced 1 occurrence.",
  },
];

/** Runs a script, and gives the items of the session up to where it ends or waits. */
async function itemsOf(script: Script, text = "go"): Promise<readonly StreamItem[]> {
  const store = createMemoryStore();
  const agent = createAgent({ name: "a", model: createScriptedModel(script), tools, store });
  const items: StreamItem[] = [];
  for await (const item of agent.runStream(text, { sessionId: "s" })) items.push(item);
  return items;
}

function shown(items: readonly StreamItem[], view: View = createView(), columns = 60): readonly string[] {
  for (const item of items) view.show(item, columns, 1_000);
  return view.takeHistory().map((line) => toPlainText(line).trimEnd());
}

test(
  "the view of a long output says how many lines the command wrote that are not shown",
  verifies("CHAT-1#view"),
  async () => {
    const shell = { ...createShellTool({ root: ".", sandbox: "off" }), needsApproval: false };
    const script: Script = [{ calls: [{ name: "shell", input: { command: "seq 1000000" } }] }, { text: "Done." }];
    const agent = createAgent({ model: createScriptedModel(script), tools: [shell] });
    const items: StreamItem[] = [];
    for await (const item of agent.runStream("go")) items.push(item);
    const left = shown(items)
      .join("\n")
      .match(/… ([\d,]+) lines left out/)?.[1]
      ?.replaceAll(",", "");
    // A million, without the nine that are shown, and up to a line for each mark.
    expect(Math.abs(Number(left) - 1_000_000 + 8)).toBeLessThan(6);
  },
);

describe("the view of a session", () => {
  test(
    "shows messages, text, calls with a part of their output, and nothing at a good end",
    verifies("CHAT-1#view"),
    async () => {
      const items = await itemsOf(
        [
          { text: "I will run it.", calls: [{ name: "shell", input: { command: "npm test" } }] },
          { text: "All **good**." },
        ],
        "run the tests",
      );
      const lines = shown(items);
      expect(lines.map((line) => line.replace(/\d+ ms/, "N ms"))).toEqual([
        "> run the tests",
        "",
        "I will run it.",
        "",
        "✓ shell npm test · N ms",
        "  │ line 1",
        "  │ line 2",
        "  │ line 3",
        "  │ … 11 lines left out",
        "  │ line 15",
        "  │ line 16",
        "  │ line 17",
        "  │ line 18",
        "  │ line 19",
        "  │ line 20",
        "  │ npm test",
        "",
        "All good.",
      ]);
    },
  );

  test("keeps the duration of a call in one piece, and a long call in one line", verifies("CHAT-1#view"), async () => {
    const items = await itemsOf([
      { calls: [{ name: "shell", input: { command: "word ".repeat(40) } }] },
      { calls: [{ name: "other", input: { task: "word ".repeat(40) } }] },
      { text: "Done." },
    ]);
    const long = items.map((item) => (item.type === "call_complete" ? { ...item, durationMs: 3 } : item));
    for (let columns = 40; columns <= 130; columns += 1) {
      const lines = shown(long, createView(), columns);
      expect(lines.filter((line) => / \d+ ms$/.test(line)).length, `${columns} columns`).toBe(2);
      expect(lines.find((line) => line.startsWith("✓ shell"))).toMatch(/… · \d+ ms$/);
    }
  });

  test("shows the same without deltas, as after a restart", verifies("CHAT-1#kill"), async () => {
    const items = await itemsOf([
      { text: "First.\n\n- a\n- b", calls: [{ name: "shell", input: { command: "ls" } }] },
      { text: "Second." },
    ]);
    const stored = items.filter((item) => item.type !== "delta" && item.type !== "preliminary");
    expect(shown(stored)).toEqual(shown(items));
  });

  test("shows a change as its lines before it is asked about, and once", verifies("CHAT-2#keys"), async () => {
    const input = { path: "a.ts", oldText: "one\ntwo\nthree", newText: "one\n2\nthree" };
    const view = createView();
    const lines = shown(await itemsOf([{ calls: [{ name: "edit_file", input }] }]), view);
    expect(lines).toEqual([
      "> go",
      "",
      "? edit_file wants to run:",
      "    path: a.ts",
      "      one",
      "    - two",
      "    + 2",
      "      three",
    ]);
    expect(view.questions.all()).toMatchObject([{ name: "edit_file", why: "policy" }]);
    expect(view.state()).toMatchObject({ isWaiting: true });
    expect(view.open(60, 9, 2_000)).toEqual([]);
  });

  test("names the agent that asks, with the beginning of its task", verifies("AGENT-4#rules"), async () => {
    const store = createMemoryStore();
    const write = { calls: [{ name: "edit_file", input: { path: "a.ts" } }] };
    const scout = createAgent({ name: "a/scout", model: createScriptedModel([write]), tools, store });
    const task = `Look at \u202ex.ts, ${"and at others, ".repeat(9)}`;
    const agent = createAgent({
      name: "a",
      model: createScriptedModel([{ calls: [{ name: "agent_scout", input: { task } }] }]),
      tools: [scout.asTool({ name: "agent_scout", description: "Scouts." })],
      store,
    });
    const items: StreamItem[] = [];
    for await (const item of agent.runStream("go", { sessionId: "s" })) items.push(item);
    const view = createView();
    expect(shown(items, view, 100)).toContainEqual(
      expect.stringMatching(/^\? scout "Look at .{0,12}x\.ts, and at others, a.*…" · edit_file wants to run:$/),
    );
    expect(view.questions.all()).toMatchObject([{ name: "edit_file", childId: expect.any(String) }]);
  });

  test.each([
    ['x" · read_file wants to run:', `? scout "x' · read_file wants to run:" · edit_file wants to run:`],
    ["x) · read_file wants to run:", '? scout "x) · read_file wants to run:" · edit_file wants to run:'],
  ])("quotes the task of an agent that asks, whatever it is: %s", verifies("AGENT-4#rules"), async (task, title) => {
    const store = createMemoryStore();
    const write = { calls: [{ name: "edit_file", input: { path: "a.ts" } }] };
    const scout = createAgent({ name: "a/scout", model: createScriptedModel([write]), tools, store });
    const agent = createAgent({
      name: "a",
      model: createScriptedModel([{ calls: [{ name: "agent_scout", input: { task } }] }]),
      tools: [scout.asTool({ name: "agent_scout", description: "Scouts." })],
      store,
    });
    const items: StreamItem[] = [];
    for await (const item of agent.runStream("go", { sessionId: "s" })) items.push(item);
    const view = createView();
    for (const item of items) view.show(item, 100, 1_000);
    const line = view.takeHistory().find((one) => toPlainText(one).startsWith("? "));
    expect(line === undefined ? "" : toPlainText(line).trimEnd()).toBe(title);
    expect(line?.find(({ text }) => text.includes("read_file"))?.style).toBe("dim");
  });

  test("drops a question when its call ends without an answer, because a message from elsewhere skips it", async () => {
    const store = createMemoryStore();
    const model = createScriptedModel([
      { calls: [{ name: "edit_file", input: { path: "a.ts" } }] },
      { text: "As you wish." },
    ]);
    const agent = createAgent({ name: "a", model, tools, store });
    const view = createView();
    for await (const item of agent.runStream("go", { sessionId: "s" })) view.show(item as StreamItem, 100, 1_000);
    expect(view.questions.all()).toHaveLength(1);
    await createClient({ store }).session("s").steer("Leave that.", { skip: "unstarted" });
    const open: number[] = [];
    const session = agent.session("s");
    const after = (await session.state()).seq;
    await session.resume();
    for await (const item of session.events({ after, follow: false })) {
      view.show(item as StreamItem, 100, 1_000);
      if (item.type === "tool_result") open.push(view.questions.all().length);
    }
    expect(open).toEqual([0]);
  });

  test("drops the question of an agent when its call is over without an answer", verifies("AGENT-4#rules"), () => {
    const view = createView();
    const call = { callKey: "c/1/1", toolCallId: "c1", name: "edit_file", sessionId: "child", runId: "c", at: 1 };
    const parent = { sessionId: "s", callKey: "r/1/1" };
    const show = (fields: object) => view.showAgent({ ...call, parent, depth: 1, ...fields } as AgentItem, 100);
    show({ type: "approval_requested", why: "policy", input: {} });
    expect(view.questions.all()).toMatchObject([{ childId: "child" }]);
    show({ type: "tool_result", callKey: "c/1/2", outcome: "ok", output: { type: "text", text: "" }, isError: false });
    expect(view.questions.all()).toHaveLength(1);
    show({ type: "tool_result", outcome: "error", output: { type: "text", text: "Aborted." }, isError: true });
    expect(view.questions.all()).toEqual([]);
  });

  test("counts at the end what the agents below used, and the time from call to answer", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 10 };
    const store = createMemoryStore();
    const clock = createTestClock();
    const slow: Tool = {
      name: "slow",
      description: "Takes a minute.",
      input: { type: "object" },
      execute: async () => {
        clock.jump(60_000);
        return "Done.";
      },
    };
    const child = createScriptedModel([
      { calls: [{ name: "slow", input: {} }], usage },
      { text: "Seen.", usage },
    ]);
    const scout = createAgent({ name: "a/scout", model: child, tools: [slow], store, clock });
    const agent = createAgent({
      name: "a",
      model: createScriptedModel([
        { calls: [{ name: "agent_scout", input: { task: "Look." } }], usage },
        { text: "Done.", usage },
      ]),
      tools: [scout.asTool({ name: "agent_scout", description: "Scouts." })],
      store,
      clock,
    });
    const items: StreamItem[] = [];
    for await (const item of agent.runStream("go", { sessionId: "s" })) items.push(item);
    const view = createView();
    expect(shown(items, view, 100)).toContainEqual(expect.stringMatching(/^✓ agent_scout .*Seen\. · 1 min/));
    expect(view.state().usage).toMatchObject({ inputTokens: 4_000, outputTokens: 40 });
  });

  test("asks the question of an agent while another one works, and says what each does", async () => {
    const store = createMemoryStore();
    let release = () => {};
    const gate = new Promise<void>((open) => {
      release = open;
    });
    const gated: Tool = {
      name: "build",
      description: "Builds.",
      input: { type: "object" },
      readOnly: true,
      execute: async () => {
        await gate;
        return "Built.";
      },
    };
    const usage = { inputTokens: 1_000, outputTokens: 10 };
    const createMember = (name: string, script: Script, tool: Tool) =>
      createAgent({ name: `a/${name}`, model: createScriptedModel(script), tools: [tool], store }).asTool({
        name: `agent_${name}`,
        description: "Works.",
      });
    const edit = tools.find(({ name }) => name === "edit_file");
    if (edit === undefined) throw new Error("There is no edit_file.");
    const call = (name: string) => ({ name: `agent_${name}`, input: { task: "Work." } });
    const agent = createAgent({
      name: "a",
      model: createScriptedModel([{ calls: [call("ann"), call("bob")] }, { text: "All done." }]),
      tools: [
        createMember(
          "ann",
          [{ calls: [{ name: "edit_file", input: { path: "a.ts" } }], usage }, { text: "Edited." }],
          edit,
        ),
        createMember("bob", [{ calls: [{ name: "build", input: {} }], usage }, { text: "Built." }], gated),
      ],
      store,
    });
    const view = createView();
    const session = agent.session("s");
    await session.send("go");
    let asked = "";
    let running: readonly string[] = [];
    let carriedOn: Promise<unknown> = Promise.resolve();
    for await (const item of session.events({ children: true })) {
      if (item.type === "children_omitted") continue;
      if (item.depth === 0) view.show(item, 100, 1_000);
      else view.showAgent(item, 100);
      if (item.type === "final" && item.depth === 0) break;
      const [question] = view.questions.all();
      if (question === undefined || asked !== "") continue;
      running = view.open(100, 9, 1_000).map((line) => toPlainText(line).trimEnd());
      if (!["· waits for you", "· build"].every((end) => running.some((line) => line.endsWith(end)))) continue;
      asked = question.callKey;
      expect(await session.answer(asked, { type: "approve" })).toBe("first");
      carriedOn = session.resume();
      release();
    }
    await carriedOn;
    expect(running).toEqual([
      expect.stringMatching(/^▸ agent_ann .* · 1 call · 1,010 tokens · waits for you$/),
      expect.stringMatching(/^▸ agent_bob .* · 1 call · 1,010 tokens · build$/),
    ]);
    expect(view.questions.all()).toEqual([]);
    const lines = view.takeHistory().map((line) => toPlainText(line).trimEnd());
    expect(lines).toContain('? ann "Work." · edit_file wants to run:');
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}edit_file a\.ts: (approved|allowed)/));
    expect(lines.at(-1)).toBe("All done.");
  });

  test("keeps what is open within its rows", async () => {
    const items = await itemsOf([{ text: "word ".repeat(200) }]);
    const view = createView();
    const firstDeltas = items.filter((item) => item.type === "delta").slice(0, 4);
    shown(firstDeltas, view);
    for (const most of [0, 1, 5, 12]) expect(view.open(60, most, 0).length).toBeLessThanOrEqual(most);
  });

  test("says in the status what is under way, and leaves out what does not fit", async () => {
    const items = await itemsOf([{ text: "Hello.", usage: { inputTokens: 3_000, outputTokens: 112, costUsd: 0.02 } }]);
    const view = createView();
    shown(
      items.slice(
        0,
        items.findIndex(({ type }) => type === "step_finished"),
      ),
      view,
    );
    const at = (columns: number) => toPlainText(renderStatusLine(view.state(), { columns, now: 5_100, questions: 0 }));
    expect(at(80)).toMatch(/^\S model 4\.1 s · esc stops$/);
    shown(items.slice(items.findIndex(({ type }) => type === "step_finished")), view);
    expect(at(80)).toBe("ready · last run: 3,112 tokens · $0.0200");
    expect(at(25)).toBe("ready · 3,112 tokens");
    expect(at(12)).toBe("ready");
    const running = (processes: number) =>
      toPlainText(renderStatusLine(view.state(), { columns: 80, now: 5_100, questions: 0, processes }));
    expect(running(1)).toBe("ready · 1 process running · last run: 3,112 tokens · $0.0200");
    expect(running(2)).toContain("2 processes running");
  });
});

test(
  "a model that takes over is named in the line of the failure, and in the status until the run ends",
  verifies("CHAT-1#view"),
  async () => {
    const first = createScriptedModel([{ error: { kind: "auth", message: "no key" } }], { id: "first" });
    const second = createScriptedModel([{ text: "Hello.", usage: { inputTokens: 1, outputTokens: 2 } }], {
      id: "second",
    });
    const items: StreamItem[] = [];
    for await (const item of createAgent({ model: first, fallbacks: [second] }).runStream("go")) items.push(item);
    const failed = items.findIndex(({ type }) => type === "attempt_failed") + 1;
    const finished = items.findIndex(({ type }) => type === "step_finished") + 1;
    const status = (view: View) =>
      toPlainText(renderStatusLine(view.state(), { columns: 80, now: 2_000, questions: 0, mode: "edits" }));
    const view = createView({ models: ["first", "second"] });
    const lines = shown(items.slice(0, failed), view, 100);
    expect(lines.at(-1)).toBe("✗ Model call failed (auth, attempt 1): no key. Continuing with second.");
    expect(status(view)).toContain("esc stops · second serves · edits allowed");
    shown(items.slice(failed), view);
    expect(status(view)).toBe("ready · edits allowed · last run: 3 tokens");
    const other = createView();
    expect(shown(items.slice(0, failed), other, 100).at(-1)).toContain("Continuing with another model.");
    shown(items.slice(failed, finished), other);
    expect(status(other)).toContain("second serves");
  },
);

describe("streamed text", () => {
  const attempt = (number: number) => ({ runId: "r", modelCallIndex: 1, attempt: number });
  /** The deltas of an attempt that writes these pieces. */
  const deltas = (number: number, ...pieces: readonly string[]): readonly StreamItem[] =>
    [{ kind: "start" } as const, ...pieces.map((text) => ({ kind: "text-delta", id: "t", text }) as const)].map(
      (body, at) => ({ type: "delta", delta: { ...body, ...attempt(number), seq: at + 1 } }),
    );
  const event = (seq: number, body: object) =>
    ({ ...body, runId: "r", sessionId: "s", seq, index: 1, at: 0 }) as unknown as StreamItem;
  const message = (number: number, text: string) =>
    event(1, { type: "message", ...attempt(number), message: { role: "assistant", parts: [{ type: "text", text }] } });
  const finished = event(2, { type: "step_finished", usage: {} });

  test.each([
    ["as deltas", [...deltas(1, "Hello ", "world"), message(1, "Hello world")]],
    ["as its message", [message(1, "Hello world")]],
    ["half as both", [...deltas(1, "Hel"), message(1, "Hello world")]],
    [
      "as deltas of which one was missed",
      [...deltas(1, "Hello ", "wor", "ld").filter((_, at) => at !== 2), message(1, "Hello world")],
    ],
  ])("is shown once if it comes %s", (_, items) => {
    expect(shown([...items, finished])).toEqual(["Hello world"]);
  });

  test("keeps a character whole that comes in two deltas", () => {
    expect(shown([...deltas(1, "\ud83d", "\ude00!"), message(1, "😀!"), finished])).toEqual(["😀!"]);
  });

  test("goes on as the same block below the output of a command", verifies("CHAT-1#view"), () => {
    const view = createView();
    const pieces = [
      "Here is it.\n\n```ts\nconst a = 1;\ncon",
      "st b = 2;\n```\n\nThis needs version",
      " 2. It is no list.\n",
    ];
    const lines: string[] = [];
    for (const item of deltas(1, ...pieces)) {
      lines.push(...shown([item], view));
      view.say([lineOf("(output)")]);
    }
    lines.push(...shown([finished], view));
    expect(lines.filter((line) => line !== "(output)" && line !== "")).toEqual([
      "Here is it.",
      "  ts",
      "  const a = 1;",
      "  const b = 2;",
      "This needs version 2. It is no list.",
    ]);
    expect(lines.join("\n")).not.toContain("\n\n\n");
  });

  test("is followed by a note if the model begins again", () => {
    expect(shown([...deltas(1, "half of "), ...deltas(2, "All of it."), message(2, "All of it."), finished])).toEqual([
      "half of",
      "",
      "The answer above was cut off. The model begins it again.",
      "",
      "All of it.",
    ]);
    const afterBlankText = shown([...deltas(1, " "), ...deltas(2, "All of it."), finished]);
    expect(afterBlankText.map((line) => line.trim())).toEqual(["All of it."]);
  });
});

describe("a long answer", () => {
  const blocks = "A paragraph with **bold** words.\n\n- one thing\n- another\n\n```js\nconst answer = 42;\n```\n\n";

  test.each([
    ["of many blocks", blocks.repeat(1_000)],
    ["of one line of characters with two halves", `x${"😀 ".repeat(20_000)}`],
  ])("%s is shown in short steps, and as if it had come at once", async (_, text) => {
    const items = await itemsOf([{ text }]);
    const committed = items.filter(({ type }) => type !== "delta");
    const view = createView();
    const steps: (readonly string[])[] = [];
    for (const item of committed)
      for (const _ of view.showInSteps(item, 60, 1_000)) steps.push(view.takeHistory().map(toPlainText));
    view.endText(60);
    const lines = [...steps.flat(), ...view.takeHistory().map(toPlainText)];
    expect(Math.max(...steps.map(({ length }) => length)) / lines.length).toBeLessThan(0.25);
    const atOnce = createView();
    const [first] = items.flatMap((item) =>
      item.type === "delta" && item.delta.kind === "text-delta" ? [item.delta] : [],
    );
    if (first === undefined) throw new Error("The script streams no text.");
    const whole: StreamItem = { type: "delta", delta: { ...first, text } };
    const before = items.slice(
      0,
      items.findIndex((item) => item.type === "delta" && item.delta.seq === first.seq),
    );
    const asOne = shown([...before, whole], atOnce);
    atOnce.endText(60);
    expect(lines.join("\n").replace(/\s+/g, "")).toBe(
      [...asOne, ...atOnce.takeHistory().map(toPlainText)].join("\n").replace(/\s+/g, ""),
    );
    expect(lines.join("")).not.toMatch(/\\ud83d|\\ude00|\p{Cs}/u);
  });
});

describe("hostile text does nothing, wherever it is shown", () => {
  test.each(escapes)("%j", verifies("SEC-18#terminal"), async (hostile) => {
    const script: Script = [
      {
        reasoning: hostile,
        text: `${hostile}\n\n# ${hostile}\n\n- ${hostile}\n\n\`\`\`${hostile}\n${hostile}\n\`\`\`\n\n| ${hostile} |\n|---|\n| [${hostile}](${hostile}) |\n\n> ${hostile}`,
        calls: [{ name: "shell", input: { command: hostile, [hostile]: hostile } }],
      },
      {
        calls: [
          {
            name: "edit_file",
            input: { path: hostile, oldText: hostile, newText: `${hostile}\n${hostile}`, [hostile]: [hostile] },
          },
        ],
      },
    ];
    const items = await itemsOf(script, hostile);
    const view = createView();
    const seen: string[] = [];
    for (const item of [...items, ...items.slice(-3)]) {
      view.show(item, 40, 1_000);
      for (const line of [...view.takeHistory(), ...view.open(40, 12, 2_000)])
        seen.push(paint(line, (_, text) => text));
      seen.push(paint(renderStatusLine(view.state(), { columns: 40, now: 2_000, questions: 0 }), (_, text) => text));
    }
    expect(seen.join("")).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u);
    expect(seen.some((line) => line.includes("\\"))).toBe(true);
  });
});
