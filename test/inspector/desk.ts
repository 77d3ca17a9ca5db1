/**
 * Sessions as real runs make them, for the pages of the inspector: an agent that mends a flaky test, with failed attempts,
 * edits, calls that wait, and answers in several scripts.
 */
import { type Agent, createAgent, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";

const path = { type: "string", maxLength: 400, description: "From the root." } as const;

export const readFile = defineTool({
  name: "read_file",
  description: "Reads a text file.",
  input: { type: "object", properties: { path }, required: ["path"], additionalProperties: false },
  readOnly: true,
  execute: ({ path }) => `${path}\n${source}`,
});

export const editFile = defineTool({
  name: "edit_file",
  description: "Replaces a text in a file by another.",
  input: {
    type: "object",
    properties: { path, oldText: { type: "string" }, newText: { type: "string" } },
    required: ["path", "oldText", "newText"],
    additionalProperties: false,
  },
  needsApproval: true,
  execute: ({ path }) => `Replaced one occurrence in ${path}.`,
});

export const shell = defineTool({
  name: "shell",
  description: "Runs a command in the folder.",
  input: {
    type: "object",
    properties: {
      command: { type: "string", minLength: 1, description: "The command, as bash reads it." },
      timeoutSeconds: { type: "integer", minimum: 1, maximum: 600 },
    },
    required: ["command"],
    additionalProperties: false,
  },
  needsApproval: ({ command }) => /rm|npm ci/.test(String(command)),
  execute(input) {
    const command = String(input.command);
    if (command.includes("fail")) throw new Error("exit code 1: 1 test failed (queue › drains in order)");
    return command.includes("all")
      ? Array.from({ length: 4_000 }, (_, line) => `ok ${line + 1} - a test of the queue`).join("\n")
      : "ok 1 - drains in order\nok 2 - keeps what is late\n# 2 tests, 2 passed";
  },
});

/** A tool whose input has an object and a list. */
export function createOrderTool(orders: unknown[]) {
  const line = {
    type: "object",
    title: "Line",
    properties: {
      part: { type: "string", title: "Part", maxLength: 20 },
      count: { type: "integer", title: "Count", minimum: 1 },
      urgent: { type: "boolean", title: "Urgent" },
    },
    required: ["part", "count"],
  } as const;
  const to = {
    type: "object",
    title: "Ship to",
    properties: { city: { type: "string", title: "City", maxLength: 80 }, floor: { type: "integer", title: "Floor" } },
    required: ["city"],
  } as const;
  return defineTool({
    name: "order",
    description: "Orders parts.",
    input: {
      type: "object",
      properties: { to, lines: { type: "array", title: "Lines", items: line, minItems: 1 } },
      required: ["to", "lines"],
    },
    needsApproval: true,
    execute(input) {
      orders.push(input);
      return "Ordered.";
    },
  });
}

export const orderInput = {
  to: { city: "Bonn", floor: 3 },
  lines: [
    { part: "M5", count: 40 },
    { part: "M6", count: 2, urgent: false },
  ],
} as const;

const source = `export async function drain(queue: Queue) {
  const taken: Item[] = [];
  while (queue.length > 0) taken.push(await queue.take());
  return taken;
}`;

const createUsage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0) => ({
  usage: { inputTokens, outputTokens, cacheReadTokens, costUsd: inputTokens * 0.000003 + outputTokens * 0.000015 },
});

/** The steps before the calls that wait. */
export const menderSteps: readonly ScriptedStep[] = [
  {
    reasoning: "The test fails one time in twenty. Ordering is the likely cause, so I look at how the queue drains.",
    text: "I look at the queue and at its test first.",
    calls: [
      { name: "read_file", input: { path: "src/queue.ts" } },
      { name: "read_file", input: { path: "src/drain.ts" } },
      { name: "read_file", input: { path: "test/queue.test.ts" } },
    ],
    ...createUsage(8_112, 164, 7_020),
  },
  {
    text: "Two takers can run at the same time. I run the tests to see it fail.",
    calls: [{ name: "shell", input: { command: "npm test -- --repeat 20 fail" } }],
    ...createUsage(8_431, 61, 8_112),
  },
  { error: { kind: "overloaded", message: "The model is overloaded. Try again later.", statusCode: 529 } },
  {
    text: "It fails as expected: **drains in order** is the one. The loop awaits inside its condition's shadow, so an item that comes late is taken twice.\n\nI change the loop so that it takes the whole batch at once.",
    calls: [
      {
        name: "edit_file",
        input: {
          path: "src/drain.ts",
          oldText: source,
          newText: source
            .replace(
              "while (queue.length > 0) taken.push(await queue.take());",
              "const batch = queue.takeAll();\n  for (const item of batch) taken.push(await item);",
            )
            .replace("const taken", "const taken"),
        },
      },
      { name: "shell", input: { command: "rm -rf build && npm ci", timeoutSeconds: 120 } },
    ],
    ...createUsage(8_912, 214, 8_431),
  },
];

export function createMender(store: Store, extraSteps: readonly ScriptedStep[] = [], name = "mender"): Agent {
  return createAgent({
    name,
    store,
    model: createScriptedModel([...menderSteps, ...extraSteps], { id: "some/llm-large" }),
    tools: [readFile, editFile, shell],
    systemPrompt: "You mend code. Look before you change anything, and change as little as you can.",
    retry: { baseDelayMs: 1, maxDelayMs: 1 },
  });
}

/** One run each, which ends. */
const otherSessions: readonly (readonly [agent: string, title: string, steps: readonly ScriptedStep[]])[] = [
  [
    "writer",
    "اكتب ملخصًا قصيرًا عن الطوابير الدائمة",
    [{ text: "الطابور الدائم يحفظ كل خطوة قبل تنفيذ ما يليها، فلا يضيع شيء عند الانقطاع.", ...createUsage(420, 90) }],
  ],
  [
    "writer",
    "耐久性のあるキューとは何ですか 🧵",
    [
      {
        text: "各ステップは、次の処理が始まる前に記録されます。✅ 途中で止まっても失われません。",
        ...createUsage(410, 80),
      },
    ],
  ],
  [
    "mender",
    "Run all tests and say how long they take",
    [
      { calls: [{ name: "shell", input: { command: "npm test all" } }], ...createUsage(5_000, 40) },
      { text: "All 4,000 tests pass. They take 41 s; most of it is the build.", ...createUsage(61_000, 60, 5_000) },
    ],
  ],
  [
    "mender",
    "Update the dependencies",
    [
      {
        error: {
          kind: "auth",
          message: "The key was refused. Set SOME_API_KEY to a key that is valid.",
          statusCode: 401,
        },
      },
    ],
  ],
];

export async function writeOtherSessions(store: Store): Promise<void> {
  for (const [index, [name, title, steps]] of otherSessions.entries()) {
    const agent = createAgent({
      name,
      store,
      model: createScriptedModel(steps, { id: "some/llm-small" }),
      tools: [readFile, editFile, shell],
    });
    await agent.run(title, { sessionId: `w${index}kq2mfz81` });
  }
}

/** A session whose run waits for two answers. Gives its id. */
export async function writeWaitingSession(store: Store, sessionId = "s7k2p0qd41"): Promise<string> {
  const agent = createMender(store, [
    { text: "Done. The queue drains in order now, 200 times out of 200.", ...createUsage(9_301, 88, 8_912) },
  ]);
  await agent.run("Fix the flaky test in test/queue.test.ts", { sessionId });
  return sessionId;
}

/** An input that edits a file. */
export const editInput = { path: "a.txt", oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\n" } as const;
