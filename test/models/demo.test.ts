import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Message } from "../../src/core/data/message.js";
import { createDemoModel } from "../../src/models/demo/demo-model.js";
import { readNote, readOutline } from "../../src/models/demo/findings.js";
import type { AnyTool } from "../../src/ports/tool.js";
import { createFileTools } from "../../src/tools/file-tools.js";
import { createShellTool } from "../../src/tools/shell.js";
import { createFolder } from "../tools/folder.js";
import { verifies } from "../verifies.js";
import { converse, say } from "./demo-world.js";

const project = {
  "README.md": "# Title\n\nAbout *it*.\n\n## Use\n\n```sh\n# no heading\n```\n\n- [ ] TODO: write more\n",
  "src/a.ts":
    "/** Adds things. */\nexport function add() {\n  // TODO(jo): handle overflow\n  return 1;\n}\nexport type X = 1; /* FIXME drop */\n",
  "src/b.py": "# TODO\ndef f():\n  pass\n",
  "src/c.js": 'const s = "// TODO: not me"; // see the TODO list\n',
};

function createWorld(files: Readonly<Record<string, string>> = project): {
  readonly root: string;
  readonly tools: readonly AnyTool[];
} {
  const root = createFolder(files);
  return { root, tools: [...createFileTools({ root }), createShellTool({ root, sandbox: "off" })] };
}

const main = "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md";

describe("find the TODO comments, then write a summary", () => {
  test("takes several steps with real tools, and reports what is there", async () => {
    const { root, tools } = createWorld();
    const { steps, answer } = await converse(main, tools);
    expect(steps).toEqual([["search_files", "search_files"], ["read_file", "read_file", "read_file"], ["write_file"]]);
    expect(answer).toBe(
      [
        "Found 3 comments (2 TODO, 1 FIXME) in 2 files under `src`; 3 files searched.",
        "",
        "- `src/a.ts:3` TODO: handle overflow",
        "- `src/a.ts:6` FIXME: drop",
        "- `src/b.py:1` TODO: (it says no more)",
        "",
        "1 other line mentions the words.",
        "",
        "Wrote the report to `TODO-REPORT.md` (43 lines).",
      ].join("\n"),
    );
    expect(readFileSync(join(root, "TODO-REPORT.md"), "utf8")).toBe(
      [
        "# TODO and FIXME comments under src",
        "",
        `> ${main}`,
        "",
        "**3 comments (2 TODO, 1 FIXME) in 2 files under `src`; 3 files searched.**",
        "",
        "| File | TODO | FIXME |",
        "|---|---:|---:|",
        "| `src/a.ts` | 1 | 1 |",
        "| `src/b.py` | 1 | 0 |",
        "",
        "### src/a.ts",
        "",
        "- **Line 3**, TODO: handle overflow",
        "",
        "  ```ts",
        "    // TODO(jo): handle overflow",
        "    return 1;",
        "  }",
        "  ```",
        "",
        "- **Line 6**, FIXME: drop",
        "",
        "  ```ts",
        "  export type X = 1; /* FIXME drop */",
        "  ```",
        "",
        "### src/b.py",
        "",
        "- **Line 1**, TODO: (it says no more)",
        "",
        "  ```py",
        "  # TODO",
        "  def f():",
        "    pass",
        "  ```",
        "",
        "### Mentioned, but not as a comment",
        "",
        '- `src/c.js:1` `const s = "// TODO: not me"; // see the TODO list`',
        "",
        "---",
        "*Written by Pawl's demo model, which is not an LLM: it follows rules and reports what the tools returned.*",
        "",
      ].join("\n"),
    );
  });

  test("works where there are none", async () => {
    const { root, tools } = createWorld({ "src/a.ts": "export const a = 1;\n" });
    const { steps, answer } = await converse(main, tools);
    expect(steps).toEqual([["search_files", "search_files"], ["write_file"]]);
    expect(answer).toContain("There are no TODO or FIXME comments under `src` (1 file searched).");
    expect(readFileSync(join(root, "TODO-REPORT.md"), "utf8")).toContain("There are no TODO or FIXME comments");
  });

  test("says honestly that there is no such folder", async () => {
    const { root, tools } = createWorld({});
    const { answer } = await converse(main, tools);
    expect(answer).toBe(
      "This did not work: search_files: src does not exist.\n\nI did not go on with what was to come after it.",
    );
    expect(existsSync(join(root, "TODO-REPORT.md"))).toBe(false);
  });

  test("holds on to many, and says where it stopped", async () => {
    const lines = Array.from({ length: 1200 }, (_, index) => `// TODO: number ${index + 1}`).join("\n");
    const { root, tools } = createWorld({ "src/a.ts": lines });
    const { steps, answer } = await converse(main, tools);
    expect(steps[1]).toHaveLength(8);
    expect(answer).toContain("Found 1000 comments (1000 TODO, 0 FIXME)");
    expect(answer).toContain("There are more: the search was cut.");
    expect(answer).toContain("- … and 990 more");
    expect(readFileSync(join(root, "TODO-REPORT.md"), "utf8")).toContain("**Line 1000**, TODO: number 1000");
  });
});

describe("each task, with the real tools", () => {
  const cases: readonly [request: string, steps: readonly (readonly string[])[], answer: string | RegExp][] = [
    ["list the TypeScript files", [["list_files"]], "There is 1 TypeScript file in this folder.\n\n- `src/a.ts`"],
    ["count the files under src", [["list_files"]], "There are 3 files under src."],
    ["list the files in lib", [["list_files"]], /^This did not work: list_files: lib does not exist\.$/],
    ["count the lines of src/a.ts", [["read_file"]], "`src/a.ts` has 6 lines."],
    [
      "count the lines in src",
      [["list_files"], ["read_file", "read_file", "read_file"]],
      "3 files under `src` have 10 lines together.\n\n| File | Lines |\n|---|---:|\n| `src/a.ts` | 6 |\n| `src/b.py` | 3 |\n| `src/c.js` | 1 |",
    ],
    [
      'count the occurrences of "export" in src',
      [["search_files"]],
      "`export` stands on 2 lines in 1 file under `src` (3 files searched).",
    ],
    [
      "find add in src",
      [["search_files"]],
      "1 line contains `add` in 1 file under `src`.\n\n- `src/a.ts:2` `export function add() {`",
    ],
    [
      "find nothing-like-it",
      [["search_files"]],
      "No line in this folder contains `nothing-like-it` (4 files searched).",
    ],
    [
      "how many TODOs are there?",
      [["search_files", "search_files"]],
      "4 comments (3 TODO, 1 FIXME) in 3 files in this folder; 4 files searched. 1 other line mentions the words.",
    ],
    ["read src/b.py", [["read_file"]], "`src/b.py`:\n\n```py\n# TODO\ndef f():\n  pass\n```"],
    ["read lines 2-3 of src/b.py", [["read_file"]], "`src/b.py`, lines 2 to 3 of 3:\n\n```py\ndef f():\n  pass\n```"],
    ["summarise README.md", [["read_file"]], "**`README.md`** (11 lines): About *it*.\n- Title\n  - Use"],
    [
      "summarise src",
      [["list_files"], ["read_file", "read_file", "read_file"]],
      "3 of 3 files under `src`, by their headings and exports:\n\n**`src/a.ts`** (6 lines): Adds things.\nExports: `add`, `X`.\n\n**`src/b.py`** (3 lines): TODO\nExports: `f`.\n\n**`src/c.js`** (1 line)\nIt has neither headings nor exports.",
    ],
    [
      'replace "add" with "plus" in src/a.ts',
      [["edit_file"]],
      "Replaced `add` by `plus`:\n\n- Replaced 1 occurrence in src/a.ts (line 2)",
    ],
    [
      "replace TODO with LATER in src",
      [["search_files"], ["edit_file", "edit_file", "edit_file"]],
      /- Replaced 2 occurrences in src\/c\.js \(lines 1, 1\)$/,
    ],
    [
      'replace nowhere with "there" in src',
      [["search_files"]],
      "Nothing was replaced: no line under `src` contains `nowhere`.",
    ],
    ["run: echo hello", [["shell"]], "Ran `echo hello`:\n\n```\nhello\n(exit code 0; not sandboxed)\n```"],
    ["write a report", [], /^I did not write `REPORT\.md`: nothing was found before/],
    [
      "read src/b.py, then find add in src",
      [["read_file"], ["search_files"]],
      /^`src\/b\.py`:[\s\S]*\n\n1 line contains `add`/,
    ],
  ];
  test.each(cases)("%s", async (request, steps, answer) => {
    const conversation = await converse(request, createWorld().tools);
    expect(conversation.steps).toEqual(steps);
    if (typeof answer === "string") expect(conversation.answer).toBe(answer);
    else expect(conversation.answer).toMatch(answer);
  });

  test("a report of several findings has a section for each", async () => {
    const { root, tools } = createWorld();
    await converse("count the files in src, then summarise README.md, then write a report to docs/R.md", tools);
    const report = readFileSync(join(root, "docs/R.md"), "utf8");
    expect(report.match(/^#+ .*$/gm)).toEqual(["# Report", "## Files under src", "## Summary of README.md"]);
  });
});

describe("a conversation", () => {
  test("goes on: what was found before can be written later", async () => {
    const { root, tools } = createWorld();
    const first = await converse("find TODOs in src", tools);
    const greeting = await converse("thanks for that", tools, first.messages);
    const second = await converse("now write it to later.md", tools, greeting.messages);
    expect(second.steps).toEqual([["write_file"]]);
    expect(readFileSync(join(root, "later.md"), "utf8")).toContain("**Line 3**, TODO: handle overflow");
  });

  test("does not mistake a note for a request", async () => {
    const { tools } = createWorld();
    const { messages } = await converse("find add in src", tools);
    const note: Message = {
      role: "user",
      parts: [{ type: "text", text: "[Note, not from the user: something has finished]" }],
    };
    const { text, calls } = await say([...messages.slice(0, -1), note], tools);
    expect(calls).toEqual([]);
    expect(text).toContain("1 line contains `add`");
  });

  test("stops where it does not go as planned", async () => {
    const { tools } = createWorld();
    const { messages } = await converse("find add in src", tools);
    const other = messages.map(
      (message): Message =>
        message.role === "user" ? { role: "user", parts: [{ type: "text", text: "read README.md" }] } : message,
    );
    expect((await say(other.slice(0, -1), tools)).text).toContain("does not go on as I planned it");
  });

  test("reports a denial, and does nothing after it", async () => {
    const { tools } = createWorld();
    const asked = await say([{ role: "user", parts: [{ type: "text", text: "run: rm -rf x, then y" }] }], tools);
    expect(asked.calls).toMatchObject([{ name: "shell", input: { command: "rm -rf x, then y" } }]);
    const [call] = asked.calls;
    const denied: readonly Message[] = [
      { role: "user", parts: [{ type: "text", text: "run: `rm -rf x`, then list files" }] },
      { role: "assistant", parts: [{ type: "tool_call", toolCallId: call?.id ?? "", name: "shell", input: {} }] },
      {
        role: "tool",
        parts: [
          {
            type: "tool_result",
            toolCallId: call?.id ?? "",
            name: "shell",
            output: { type: "text", text: "Error: Denied: not now. The call was not run." },
            isError: true,
          },
        ],
      },
    ];
    const { text, calls } = await say(denied, tools);
    expect(calls).toEqual([]);
    expect(text).toBe(
      "This did not work: shell: Denied: not now. The call was not run.\n\nI did not go on with what was to come after it.",
    );
  });
});

describe("the model itself", () => {
  test("says what it is, and how to connect another", verifies("CLI-5"), async () => {
    const { text, calls } = await say(
      [{ role: "user", parts: [{ type: "text", text: "Write me a poem" }] }],
      createWorld().tools,
    );
    expect(calls).toEqual([]);
    for (const part of [
      'I do not understand "Write me a poem"',
      "demo model, not an LLM",
      "ANTHROPIC_API_KEY",
      "npm install @ai-sdk/",
      "--model provider/name",
    ])
      expect(text).toContain(part);
  });

  test("says which tool it misses, before it begins", async () => {
    const { tools } = createWorld();
    const messages: readonly Message[] = [
      { role: "user", parts: [{ type: "text", text: "list files, then run: ls" }] },
    ];
    const withoutShell = tools.filter((tool) => tool.name !== "shell");
    expect((await say(messages, withoutShell)).text).toBe(
      "For this I need the tool `shell`, which I am not offered here. On the command line, --allow-shell offers it.",
    );
    expect((await say(messages, [])).text).toContain("the tool `list_files`");
  });

  test("streams in several deltas, with usage, and the same each time", async () => {
    const { tools } = createWorld();
    const messages: readonly Message[] = [{ role: "user", parts: [{ type: "text", text: main }] }];
    const { deltas } = await say(messages, tools);
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
      usage: { inputTokens: 20, outputTokens: 40 },
    });
    expect((await say(messages, tools)).deltas).toEqual(deltas);
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

describe("what counts as a comment", () => {
  const cases: readonly [path: string, line: string, note: string | null][] = [
    ["a.ts", "// TODO: x", "x"],
    ["a.ts", "foo(); // TODO(ann): x", "x"],
    ["a.ts", "/* TODO x */", "x"],
    ["a.tsx", "{/* TODO: x */}", "x"],
    ["a.ts", "* TODO - x", "x"],
    ["a.ts", "* @TODO x", "x"],
    ["a.ts", 'fetch("http://TODO")', null],
    ["a.ts", '"// TODO: x"', null],
    ["a.ts", "// see the TODO list", null],
    ["a.ts", "// TODOS: x", null],
    ["a.ts", "if (TODO) {", null],
    ["a.py", "# TODO x", "x"],
    ["a.sql", "-- TODO: x", "x"],
    ["a.html", "<!-- TODO: x -->", "x"],
    ["a.md", "- [ ] TODO: x", "x"],
    ["a.md", "TODO x", "x"],
    ["a.md", "The TODO list", null],
  ];
  test.each(cases)("%s: %s", (path, text, said) => {
    expect(readNote({ path, line: 1, text }, ["TODO"])).toEqual(said === null ? null : { word: "TODO", text: said });
  });
});

describe("what a file is about", () => {
  test("code: what it exports", () => {
    const text =
      'export const a = 1;\nexport default class B {}\nexport async function c() {}\nexport { d } from "x";\nexport * from "./y.js";\nexport type { E };\nmodule.exports.f = 1;\nconst g = 1;';
    const lines = new Map(text.split("\n").map((line, index) => [index + 1, line]));
    expect(readOutline("a.ts", { lines, total: lines.size }).exports).toEqual([
      "a",
      "B",
      "c",
      "{ d }",
      "*",
      "{ E }",
      "f",
    ]);
  });
});
