import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { summaryMessage } from "../../src/core/transcript/compaction.js";
import { createAgent } from "../../src/index.js";
import { createDemoModel } from "../../src/models/index.js";
import type { AnyTool } from "../../src/ports/tool.js";
import { createFileTools, createShellTool, defineTool } from "../../src/tools/index.js";
import { createTempFolder } from "../tools/folder.js";
import { verifies } from "../verifies.js";
import {
  converse,
  createAssistantMessage,
  createToolMessage,
  createUserMessage,
  type RunCall,
  replyTo,
} from "./demo-conversation.js";

const project = {
  "README.md": "# Shop\n\nSells things.\n",
  "src/cart.ts": "// TODO: round to cents\nexport const totalOf = 1;\n",
  "src/main.ts": "// FIXME: crashes on an empty cart\nconsole.log(totalOf);\n",
  "src/deep/a.ts": "export {};\n",
  "notes.txt": "The colour of the colour.\n",
};

type World = { readonly root: string; readonly tools: readonly AnyTool[] };

function createWorld(files: Readonly<Record<string, string>> = project): World {
  const root = createTempFolder(files);
  return { root, tools: [...createFileTools({ root }), createShellTool({ root, sandbox: "off" })] };
}

const whatItIs = "I am Pawl's demo model, not an LLM: I follow rules and show what tools returned.";
const lookAround = ["list_files", { path: ".", depth: 1 }];
const search = (text: string, path: string) => ["search_files", { text, path }];
const read = (path: string) => ["read_file", { path }];
const list = (path: string) => ["list_files", { path }];

/** The answer without what the demo model says of itself each time. */
function withoutAbout(answer: string): string {
  const at = answer.indexOf(whatItIs);
  expect(at).not.toBe(-1);
  return answer.slice(0, at).trimEnd();
}

const main = "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md";

describe("the one plan", () => {
  test("looks around, searches, writes a report and answers, by real calls", async () => {
    const { root, tools } = createWorld();
    const { steps, answer } = await converse(main, tools);
    const written = readFileSync(join(root, "TODO-REPORT.md"), "utf8");
    expect(steps).toEqual([
      [lookAround],
      [search("TODO", "src"), search("FIXME", "src")],
      [["write_file", { path: "TODO-REPORT.md", content: written }]],
    ]);
    const found = [
      '"TODO" in src (1 line in 1 file; 3 files searched):',
      "",
      "    src/cart.ts:1: // TODO: round to cents",
      "",
      '"FIXME" in src (1 line in 1 file; 3 files searched):',
      "",
      "    src/main.ts:1: // FIXME: crashes on an empty cart",
      "",
    ];
    expect(written).toBe(["# Report", "", `> ${main}`, "", ...found, whatItIs, ""].join("\n"));
    expect(answer.split("\n").slice(0, 10)).toEqual([
      ...found,
      `Wrote TODO-REPORT.md (${Buffer.byteLength(written)} bytes, 13 lines; a new file)`,
      "",
    ]);
  });

  const looks: readonly [request: string, ...calls: readonly unknown[]][] = [
    ["List the files", list(".")],
    ["List the files under src", list("src")],
    ["What is in src/deep?", list("src/deep")],
    ["Read README.md.", read("README.md")],
    ["Count the lines of ./src/cart.ts, and of notes.txt!", read("src/cart.ts"), read("notes.txt")],
    ["Read @src/cart.ts and @notes.txt", read("src/cart.ts"), read("notes.txt")],
    ["Summarize src/ and README.md", list("src"), read("README.md")],
    ['Find "the colour" in notes.txt', search("the colour", "notes.txt")],
    ["Find `x = 1` and `y = 2`", search("x = 1", "."), search("y = 2", ".")],
    ["Where is totalOf used?", search("totalOf", ".")],
    ["Find out what happened to order_1041 in src", search("order_1041", "src")],
    ["How many FIXMEs are left in src?", search("TODO", "src"), search("FIXME", "src")],
    ["What is this project about?", read("README.md")],
    ["Read what is nowhere.md", read("README.md")],
    ["Read src/nowhere.ts", read("src/nowhere.ts")],
    ["Read /etc/passwd and ../secret", read("README.md")],
    ["Fix the bug, then write the result to src/cart.ts", read("src/cart.ts")],
    ["Do not write a report to notes.txt", read("notes.txt")],
    ["Write a poem to notes.txt", read("notes.txt")],
    [`Read README.md ${"and ".repeat(600)}src`, read("README.md")],
  ];
  test.each(looks)("%s", async (request, ...calls) => {
    const { steps } = await converse(request, createWorld().tools);
    expect(steps).toEqual([[lookAround], calls]);
  });

  test("searches for what is attached only if the request itself names nothing", async () => {
    const { tools } = createWorld();
    const attached = {
      type: "text",
      text: "The file src/cart.ts, as it is now:\nexport const totalOf = 1;\n",
    } as const;
    const looked = createAssistantMessage("", [{ id: "1", name: "list_files", input: { path: ".", depth: 1 } }]);
    const listing = createToolMessage([{ id: "1", name: "list_files", input: {} }], ["src/\nREADME.md"]);
    const next = async (own: string) => {
      const request = { role: "user", parts: [{ type: "text", text: own }, attached] } as const;
      return (await replyTo([request, looked, listing], tools)).calls.map(({ name, input }) => [name, input]);
    };
    expect(await next("Read @src/cart.ts")).toEqual([read("src/cart.ts")]);
    expect(await next("Review this")).toEqual([search("totalOf", "src/cart.ts")]);
  });

  test("lists all files if nothing is named and there is no README", async () => {
    const { tools } = createWorld({ "a.txt": "a\n" });
    const { steps, answer } = await converse("Hello", tools);
    expect(steps).toEqual([[lookAround], [list(".")]]);
    expect(answer).toMatch(/^All files \(1 file\):\n\n {4}a\.txt\n\nRequests that I can follow:\n/);
  });

  const spelledOut: readonly [request: string, name: string, input: object][] = [
    [
      'Replace "colour" with "color" in notes.txt',
      "edit_file",
      { path: "notes.txt", oldText: "colour", newText: "color", replaceAll: true },
    ],
    [
      "Replace colour with color in @notes.txt",
      "edit_file",
      { path: "notes.txt", oldText: "colour", newText: "color", replaceAll: true },
    ],
    [
      'replace colour with "" in notes.txt.',
      "edit_file",
      { path: "notes.txt", oldText: "colour", newText: "", replaceAll: true },
    ],
    ["run: echo one; echo two ", "shell", { command: "echo one; echo two" }],
  ];
  test.each(spelledOut)("%s: the call that the request spells out", async (request, name, input) => {
    const { steps } = await converse(request, createWorld().tools);
    expect(steps).toEqual([[[name, input]]]);
  });

  test("runs no part of a command that is too long to read", async () => {
    const { steps } = await converse(`run: rm -rf ${"x".repeat(2000)}`, createWorld().tools);
    expect(steps.flat().map(([name]) => name)).not.toContain("shell");
  });
});

describe("the answer", () => {
  const answers: readonly [request: string, answer: string][] = [
    ["Read src/cart.ts", "src/cart.ts (2 lines):\n\n    // TODO: round to cents\n    export const totalOf = 1;"],
    ["List the files under src", "Files in src (3 files):\n\n    src/cart.ts\n    src/deep/a.ts\n    src/main.ts"],
    ['Find "zebra" in src', 'No lines contain "zebra" (3 files searched under src)'],
    ["Replace colour with color in notes.txt", "Replaced 2 occurrences in notes.txt (lines 1, 1)"],
    ["run: echo hello", "echo hello (exit code 0; not sandboxed):\n\n    hello"],
    ["Read src/nowhere.ts", "read_file did not work: src/nowhere.ts does not exist."],
  ];
  test.each(answers)("%s", async (request, answer) => {
    expect(withoutAbout((await converse(request, createWorld().tools)).answer)).toBe(answer);
  });

  test("says what the model is, and how to use an LLM", verifies("CLI-5"), async () => {
    const { answer } = await converse("Write me a poem", createWorld().tools);
    const parts = [
      "demo model, not an LLM",
      "Requests that I can follow",
      "ANTHROPIC_API_KEY",
      "--model provider/name",
    ];
    for (const part of parts) expect(answer).toContain(part);
    for (const line of answer.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("is short, however much a tool returned, and never ends within a character", async () => {
    const { tools } = createWorld({ "big.txt": `${"\u{1f600}".repeat(150)}\n`.repeat(300) });
    const { answer } = await converse("Read big.txt", tools);
    expect(answer).toContain("big.txt (300 lines):");
    expect(answer).toContain("    … and 280 more\n");
    expect(answer.length).toBeLessThan(4000);
    expect(answer).not.toMatch(/\p{Surrogate}/u);
  });

  test("keeps the total of an output that the loop has cut", async () => {
    const output = "a.ts\n[… left out here: lines 2 to 800 …]\nz.ts\n(801 files)\n[The whole is kept as output 7: …]";
    const { answer } = await converse("List the files", createWorld().tools, [], () => output);
    expect(answer).toMatch(/^All files \(801 files\):\n/);
  });

  test("shows the result of a call that a person has changed", async () => {
    const output = '(A person changed the input to {"path":"b.txt"}.)\nReplaced 1 occurrence in b.txt (line 1)';
    const { answer } = await converse("Replace a with b in a.txt", createWorld().tools, [], () => output);
    expect(answer).toContain("    (A person changed the input");
    expect(answer).toContain("    Replaced 1 occurrence in b.txt (line 1)");
  });
});

describe("errors", () => {
  test("of the look mean that no report is written", async () => {
    const { root, tools } = createWorld();
    const { answer } = await converse("Read src/nowhere.ts, then write a summary to R.md", tools);
    expect(existsSync(join(root, "R.md"))).toBe(false);
    expect(withoutAbout(answer)).toBe(
      "read_file did not work: src/nowhere.ts does not exist.\n\nI did not write R.md, because I have nothing to report.",
    );
  });

  test("of one file do not hide another", async () => {
    const { root, tools } = createWorld();
    const { answer } = await converse("Read src/nowhere.ts and notes.txt, then write a report to R.md", tools);
    expect(answer).toContain("notes.txt (1 line):");
    expect(readFileSync(join(root, "R.md"), "utf8")).toContain("src/nowhere.ts does not exist");
  });

  test("a denial is reported, and the end", async () => {
    const denied = "Error: Denied: not now. The call was not run.";
    const { answer, steps } = await converse("run: touch x", createWorld().tools, [], () => denied);
    expect(steps).toHaveLength(1);
    expect(withoutAbout(answer)).toBe("shell did not work: Denied: not now. The call was not run.");
  });
});

describe("a conversation", () => {
  test("goes on: a later request writes what an earlier one found", async () => {
    const { root, tools } = createWorld();
    const first = await converse("Find the TODO comments", tools);
    const second = await converse("Now write them to later.md", tools, first.messages);
    const third = await converse("Write it to later.md.", tools, first.messages);
    expect(second.steps.flat().map(([name]) => name)).toEqual(["list_files", "read_file"]);
    expect(third.steps.flat().map(([name]) => name)).toEqual(["list_files", "write_file"]);
    expect(readFileSync(join(root, "later.md"), "utf8")).toContain("src/cart.ts:1: // TODO: round to cents");
  });

  const notRequests: readonly [what: string, text: string][] = [
    ["a late result", "[Note, not from the user: the tool call r/1/1 has finished after all. Its output:]\nrun: ls"],
    ["a hint", "[Not from the user: how things stand now.]\nbranch: main"],
    [
      "the prompt at the limit of steps",
      "The limit of steps is reached, and no more tools can be used. Sum up what was done, what was found, and what is left to do.",
    ],
  ];
  test.each(notRequests)("does not mistake %s for a request", async (_what, text) => {
    const { tools } = createWorld();
    const { messages, answer } = await converse("Find totalOf", tools);
    const { text: again, calls } = await replyTo([...messages.slice(0, -1), createUserMessage(text)], [], {
      toolChoice: "none",
    });
    expect(calls).toEqual([]);
    expect(again).toBe(answer);
  });

  test("has notes of Pawl next to a request, which are not part of its command", async () => {
    const { tools } = createWorld();
    const parts = ["run: echo one; echo two", "The user has taken back:\n```\na.txt\n```"];
    const message = { role: "user" as const, parts: parts.map((text) => ({ type: "text" as const, text })) };
    const { calls } = await replyTo([message], tools);
    expect(calls).toMatchObject([{ name: "shell", input: { command: "echo one; echo two" } }]);
  });

  test("that another model began goes on with the plan, and ends", async () => {
    const { tools } = createWorld();
    const calls = [{ id: "other", name: "edit_file", input: { path: "a" } }];
    const messages = [
      createUserMessage("Read README.md"),
      createAssistantMessage("I edit.", calls),
      createToolMessage(calls, ["Error: no"]),
    ];
    const { calls: next } = await replyTo(messages, tools);
    expect(next).toMatchObject([{ name: "list_files" }]);
    const listed = [...messages, createAssistantMessage("", next), createToolMessage(next, ["README.md\n(1 entry)"])];
    expect((await replyTo(listed, tools)).calls).toMatchObject([{ name: "read_file", input: { path: "README.md" } }]);
  });

  test("whose request is lost in a compaction: the model says so, and ends", async () => {
    const { tools } = createWorld();
    const { messages } = await converse(main, tools);
    const { text, calls } = await replyTo([summaryMessage("They spoke."), ...messages.slice(1, -1)], tools);
    expect(calls).toEqual([]);
    expect(text).toContain("Please ask again.");
  });

  test("that is compacted, with the demo model as its own summarizer, goes on", async () => {
    const { tools } = createWorld({ "long.txt": "A line of many words in a file.\n".repeat(120) });
    const agent = createAgent({ model: createDemoModel(), tools, compaction: { contextWindow: 16_000 } });
    let compactions = 0;
    for (let turn = 1; turn <= 10; turn++) {
      const stream = agent.runStream("Read long.txt", { sessionId: "s" });
      for await (const item of stream) if (item.type === "compacted") compactions += 1;
      const result = await stream.result;
      expect(result).toMatchObject({ status: "completed", text: expect.stringContaining("long.txt (120 lines):") });
    }
    expect(compactions).toBeGreaterThan(0);
  });
});

describe("missing tools", () => {
  const ending: readonly [request: string, offered: readonly string[], answer: string | RegExp][] = [
    [
      "run: ls",
      ["list_files"],
      "shell did not work: I am not offered this tool here. On the command line, --allow-shell offers it.",
    ],
    [main, ["list_files", "search_files"], /write_file did not work: I am not offered this tool here\.$/],
    ["Find totalOf", ["search_files"], /^"totalOf" in this folder \(2 lines in 2 files;/],
    ["Find totalOf", [], "search_files did not work: I am not offered this tool here."],
    ["Hello", [], /^list_files did not work: I am not offered this tool here\./],
  ];
  test.each(ending)("%s, with %j", async (request, offered, answer) => {
    const { tools } = createWorld();
    const conversation = await converse(
      request,
      tools.filter((tool) => offered.includes(tool.name)),
    );
    expect(withoutAbout(conversation.answer)).toEqual(
      typeof answer === "string" ? answer : expect.stringMatching(answer),
    );
  });

  test("a request that forbids tools gets an answer", async () => {
    const { text, calls } = await replyTo([createUserMessage("Read README.md")], createWorld().tools, {
      toolChoice: "none",
    });
    expect(calls).toEqual([]);
    expect(text).toContain("I am not offered this tool here.");
  });
});

describe("an agent with tools of its own", () => {
  const order = { order: { type: "string" } };
  const tool = (name: string, properties: { readonly [name: string]: { readonly type: string } }) =>
    defineTool({
      name,
      description: "A tool.",
      input: { type: "object", properties, required: Object.keys(properties) },
      execute: () => "",
    });
  const tools = [
    tool("find_order", order),
    tool("refund", { ...order, cents: { type: "integer" } }),
    tool("deleteOrder", order),
    tool("list_orders", {}),
    tool("sendMail", { to: { type: "string" }, urgent: { type: "boolean" } }),
  ];
  const results: { readonly [name: string]: string } = {
    find_order: "Order 1041: a teapot for 2900 cents, arrived broken.",
    refund: "Refunded 2900 cents for order 1041.",
    list_orders: '[{"order":"1041","cents":2900}]',
  };
  const runCall: RunCall = (name) => results[name] ?? "Error: no";
  const find = ["find_order", { order: "1041" }];
  const refund = ["refund", { order: "1041", cents: 2900 }];

  const requests: readonly [request: string, ...steps: readonly unknown[][]][] = [
    ["Find order 1041 and refund it", [find], [refund]],
    ["Refund 2900 cents for order #1041", [refund]],
    ['Refund order: "1041", cents=2900', [refund]],
    ["List the orders, then refund the first", [["list_orders", {}]], [refund]],
    ["Show order 1041"],
    ["Find the order that I placed"],
    ["Refund order 1041"],
    ["Delete order 7-a.", [["deleteOrder", { order: "7-a" }]]],
    ["Send a mail to 1041"],
    [`Find order 1041 ${"and ".repeat(600)}`],
  ];
  test.each(requests)("%s", async (request, ...steps) => {
    expect((await converse(request, tools, [], runCall)).steps).toEqual(steps);
  });

  test("gets an answer with the results, and with an input that it lacks", async () => {
    const { answer } = await converse("Find order 1041 and refund it", tools, [], runCall);
    expect(withoutAbout(answer)).toBe(`${results.find_order}\n\n${results.refund}`);
    expect(answer).toContain("PAWL_MODEL=provider/name");
    const lacking = await converse("Refund order 1041", tools, [], runCall);
    expect(withoutAbout(lacking.answer)).toBe("I did not call refund: I need to know order and cents.");
  });

  test("is told how to ask, if the request names no tool", async () => {
    expect(withoutAbout((await converse("Hello", tools, [], runCall)).answer)).toBe(
      `I call a tool if the request contains the words of its name, and its inputs:

    find order, order …
    refund, order …, cents …
    delete order, order …
    list orders
    send mail, to …, urgent …`,
    );
  });

  test("takes inputs from an earlier request, and none from a failed call", async () => {
    const first = await converse("Find order 1041", tools, [], runCall);
    expect((await converse("Now refund it", tools, first.messages, runCall)).steps).toEqual([[refund]]);
    const failed = await converse("Find order 7 and refund it", tools, [], () => "Error: order 7 of 5 cents is lost");
    expect(failed.steps).toEqual([[["find_order", { order: "7" }]]]);
  });

  test("uses at most three steps of three calls", async () => {
    const many = Array.from({ length: 12 }, (_, index) => tool(`check_${index}`, {}));
    const request = `Check ${many.map((_, index) => index).join(" ")}`;
    const { steps } = await converse(request, many, [], () => "fine");
    expect(steps.map((calls) => calls.length)).toEqual([3, 3, 3]);
  });

  test("always comes to an end, whatever is said and returned", async () => {
    const words = ["find", "order", "refund", "cents", "1041", ":", '"', "-", "list", "delete", " ", "\n"];
    const said = fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((parts) => parts.join(" "));
    await fc.assert(
      fc.asyncProperty(said, fc.oneof(said, fc.string({ unit: "binary" })), async (request, result) => {
        const { answer } = await converse(request, tools, [], () => result);
        expect(answer).toContain(whatItIs);
      }),
      { numRuns: 200 },
    );
    const long = "order ".repeat(200_000);
    expect((await converse(`Find order 1041 and refund it`, tools, [], () => long)).steps).toEqual([[find]]);
  });
});

describe("the stream", () => {
  test("comes in several deltas, with usage, and the same each time", async () => {
    const { tools } = createWorld();
    const { deltas } = await replyTo([createUserMessage(main)], tools);
    expect(deltas.map((delta) => delta.kind).filter((kind, index, all) => kind !== all[index - 1])).toEqual([
      "start",
      "text-start",
      "text-delta",
      "text-end",
      "tool-call",
      "done",
    ]);
    expect(deltas.filter((delta) => delta.kind === "text-delta").length).toBeGreaterThan(5);
    expect(deltas.at(-1)).toEqual({
      kind: "done",
      finishReason: { unified: "tool-calls" },
      usage: { inputTokens: 34, outputTokens: 15 },
    });
    expect((await replyTo([createUserMessage(main)], tools)).deltas).toEqual(deltas);
    expect(createDemoModel().id).toBe("demo");
  });

  test("ends when it is aborted", async () => {
    const controller = new AbortController();
    const kinds: string[] = [];
    const request = { sessionId: "s", runId: "r", modelCallIndex: 0, attempt: 1, messages: [], tools: [] };
    for await (const delta of createDemoModel().stream(request, controller.signal)) {
      kinds.push(delta.kind);
      controller.abort();
    }
    expect(kinds).toEqual(["start"]);
  });
});

describe("hostile input", () => {
  const words =
    'find the TODO in src/ , ; . then and write a summary to R.md run: replace with it files readme " ` ( x_y'.split(
      " ",
    );
  const requests = fc.oneof(
    fc.array(fc.constantFrom(...words, "\n"), { maxLength: 40 }).map((said) => said.join(" ")),
    fc.string({ unit: "binary" }),
  );
  const outputs = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "",
      "Error: no",
      "src/\nreadme.md\n(2 entries)",
      "()",
      "(\n)",
      "1\tx\n(",
      "[The whole is kept",
      "\n\n",
    ),
  );

  test("always comes to an end, and says what the model is", async () => {
    const { tools } = createWorld({});
    await fc.assert(
      fc.asyncProperty(requests, fc.infiniteStream(outputs), async (request, given) => {
        const answerer: RunCall = () => given.next().value ?? "";
        const { answer } = await converse(request, tools, [], answerer);
        expect(answer).toContain("demo model, not an LLM");
      }),
      { numRuns: 300 },
    );
  });

  const long: readonly [what: string, text: string][] = [
    ["spaces", " ".repeat(1_000_000)],
    ["lines", "\n".repeat(1_000_000)],
    ["one line", "(".repeat(1_000_000)],
    ["slashes", "a/".repeat(500_000)],
    ["numbered lines", "1\t\n".repeat(300_000)],
  ];
  test.each(long)("a million characters of %s, as a request and as a result", async (_what, text) => {
    const { tools } = createWorld({});
    const asking = await converse(text, tools);
    const reading = await converse(main, tools, [], () => text);
    for (const { answer } of [asking, reading]) expect(answer.length).toBeLessThan(8000);
  });

  const slow = [" ", "./", ", ", "write it ", "then write it a b ", '"', "a_", "replace a with ", "run: "];
  test.each(slow)("a request of many %j", async (part) => {
    const { tools } = createWorld({});
    const { answer } = await converse(part.repeat(Math.floor(2000 / part.length)), tools);
    expect(answer).toContain(whatItIs);
  });
});
