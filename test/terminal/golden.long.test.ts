/**
 * What a person sees in each state of a conversation, at three sizes, as text with attributes. A change of a screen shows as
 * a difference of these files: `npx vitest run --project long test/terminal/golden -u` writes them anew.
 *
 * Below each screen, the second block has a letter for each character: d dim, b bold, i italic, u underlined, r red, g
 * green, y yellow, l blue, m magenta, c cyan; in capitals if it is inverse; `_` marks the cursor.
 */
import headless from "@xterm/headless";
import { describe, expect, test } from "vitest";
import { type AnswerState, initialAnswerState } from "../../src/cli/conversation/fronts/answering.js";
import { type RegionContent, renderRegion } from "../../src/cli/conversation/fronts/live-region.js";
import { loadHighlighting } from "../../src/cli/conversation/lines/highlight.js";
import type { OpenQuestion } from "../../src/cli/conversation/view/questions.js";
import { createView } from "../../src/cli/conversation/view/view.js";
import * as edit from "../../src/cli/screen/draft.js";
import { createPicker } from "../../src/cli/screen/picker.js";
import { createScreen } from "../../src/cli/screen/screen.js";
import { createStyleText } from "../../src/cli/terminal/text-style.js";
import { createAgent, createMemoryStore, type StreamItem, type Tool } from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";
import { createRecordedOutput } from "./terminal-model.js";

await loadHighlighting();

const start = 1_000_000;
const file =
  'export function parse(text) {\n  const pieces = text.split("\\n");\n  pieces.pop();\n  return pieces;\n}\n';
const change = {
  path: "src/parse.js",
  oldText: "  pieces.pop();",
  newText: '  if (pieces.at(-1) === "") pieces.pop();',
};

const tools: readonly Tool[] = [
  {
    name: "shell",
    description: "For the test.",
    input: { type: "object" },
    async *execute() {
      yield Array.from({ length: 141 }, (_, at) => `line ${at + 1}`).join("\n");
      await new Promise(() => {});
      return "";
    },
  },
  { name: "read_file", description: "For the test.", input: { type: "object" }, readOnly: true, execute: () => file },
  {
    name: "edit_file",
    description: "For the test.",
    input: { type: "object" },
    needsApproval: true,
    execute: () => "Replaced 1 occurrence in src/parse.js (line 3)",
  },
];

/** The items of a session up to the first one that fits. */
async function itemsUntil(
  script: Script,
  isLast: (item: StreamItem, at: number) => boolean,
  act: (session: ReturnType<ReturnType<typeof createAgent>["session"]>) => Promise<void> = async () => {},
): Promise<readonly StreamItem[]> {
  const agent = createAgent({ name: "a", model: createScriptedModel(script), tools, store: createMemoryStore() });
  const items: StreamItem[] = [];
  await agent.session("s").send("fix the failing parse test", { runId: "r" });
  void agent
    .session("s")
    .resume()
    .catch(() => {});
  const over = new AbortController();
  for await (const item of agent.session("s").events({ signal: over.signal })) {
    items.push(item);
    if (item.type === "preliminary") await act(agent.session("s"));
    if (isLast(item, items.length)) break;
  }
  over.abort();
  void agent.shutdown({ graceMs: 0 });
  return items;
}

type State = {
  readonly items: readonly StreamItem[];
  readonly shown?: Partial<RegionContent>;
  readonly draft?: string;
};

const markdown = [
  "# What was wrong",
  "",
  "The test fails because `parse` drops the **last line**, also if it has text. See [the issue](https://example.org/12).",
  "",
  "1. Keep the last piece",
  "   - unless it is empty",
  "2. Run the tests",
  "",
  "| file | change | tests |",
  "|---|---|---|",
  "| src/parse.js | the last piece stays unless it is empty | 14 |",
  "",
  "```js",
  "// Only an empty piece goes.",
  'if (pieces.at(-1) === "") pieces.pop();',
  "```",
].join("\n");

const states: { readonly [name: string]: () => Promise<State> } = {
  async streaming() {
    const text =
      "The test fails because `parse` drops the last line:\n\n```js\npieces.pop();\n```\n\nIt is enough to leave out the last piece when it is empty.";
    const items = await itemsUntil([{ text, wait: Promise.resolve() }], (item) => item.type === "step_finished");
    const deltas = items.filter(({ type }) => type === "delta").length;
    let seen = 0;
    const until = items.findIndex(({ type }) => type === "delta" && ++seen > deltas * 0.8);
    return { items: items.slice(0, until), draft: "a draft, typed while it works" };
  },
  async answer() {
    const items = await itemsUntil([{ text: markdown }], (item) => item.type === "final");
    return { items };
  },
  async "tool running"() {
    const script = [{ text: "I run them.", calls: [{ name: "shell", input: { command: "npm test" } }] }];
    return { items: await itemsUntil(script, (item) => item.type === "preliminary") };
  },
  async "steered and queued"() {
    const script = [{ calls: [{ name: "shell", input: { command: "npm test" } }] }];
    const items = await itemsUntil(
      script,
      (item) => item.type === "run_queued",
      async (session) => {
        await session.steer("only src/");
        await session.send("then update the changelog", { runId: "q" });
      },
    );
    return { items };
  },
  async question() {
    return { items: await asking() };
  },
  async "question in a draft"() {
    return { items: await asking(), draft: "use another way" };
  },
  async "edit of a call"() {
    const answering: AnswerState = { mode: "edit", at: 2, input: change };
    return { items: await asking(), shown: { answering }, draft: change.newText };
  },
  async "edit without a question"() {
    const items = await asking();
    const [call] = items.flatMap((item) => (item.type === "tool_call" && item.name === "edit_file" ? [item] : []));
    if (call === undefined) throw new Error("There is no call.");
    const done = { ...call, output: { type: "text", text: "Replaced 1 occurrence in src/parse.js (line 3)" } };
    const ended = [
      { ...done, type: "tool_result", status: "ok", seq: 99 },
      { ...done, type: "call_complete", status: "ok", durationMs: 4, seq: 100 },
    ] as unknown as readonly StreamItem[];
    return {
      items: [
        ...items.filter(({ type }) => type !== "approval_requested" && type !== "suspended" && type !== "final"),
        ...ended,
      ],
    };
  },
  async "failed model call"() {
    const error = { kind: "rate_limit", message: "Too many requests.", statusCode: 429 } as const;
    return {
      items: await itemsUntil([{ error }, { wait: new Promise(() => {}) }], (item) => item.type === "attempt_failed"),
    };
  },
  async "refused key"() {
    const error = { kind: "auth", message: "The key was refused.", statusCode: 401 } as const;
    return { items: await itemsUntil([{ error }], (item) => item.type === "final") };
  },
  async "after a kill"() {
    const items = await itemsUntil(
      [{ text: "I publish it.", calls: [{ name: "shell", input: { command: "npm publish" } }] }],
      (item) => item.type === "tool_call",
    );
    const [call] = items.flatMap((item) => (item.type === "tool_call" ? [item] : []));
    const asked = [
      { type: "restarted", runId: "r", seq: 98, index: 1, at: start },
      { ...call, type: "approval_requested", why: "recovery", seq: 99 },
    ] as unknown as readonly StreamItem[];
    return { items: [...items, ...asked] };
  },
  async picker() {
    const picker = createPicker("resume", [
      { id: "1", text: "7f3a21c0  waiting      2 min   fix the failing parse test" },
      { id: "2", text: "91c2aa01  completed    3 h     add a parser for dates" },
      { id: "3", text: "02be77d4  running      1 d     in shop: other words" },
    ]);
    return { items: [], shown: { picker: { ...picker, words: edit.insert(edit.emptyDraft, "pars"), at: 1 } } };
  },
  async leaving() {
    const script = [{ calls: [{ name: "shell", input: { command: "npm test" } }] }];
    return { items: await itemsUntil(script, (item) => item.type === "preliminary"), shown: { isLeaving: true } };
  },
};

function asking(): Promise<readonly StreamItem[]> {
  const script = [
    { text: "I look first.", calls: [{ name: "read_file", input: { path: "src/parse.js" } }] },
    { text: "It is the last line.", calls: [{ name: "edit_file", input: change }] },
  ];
  return itemsUntil(script, (item) => item.type === "suspended");
}

const sizes = [
  [40, 20],
  [80, 24],
  [200, 40],
] as const;

describe.each(sizes)("at %i × %i", (columns, rows) => {
  test.each(Object.keys(states))("%s", verifies("CHAT-1#screens"), async (name) => {
    const { items, shown = {}, draft = "" } = (await states[name]?.()) ?? { items: [] };
    const view = createView({ fileOf: ({ input }: OpenQuestion) => (input === null ? null : file) });
    const recorded = createRecordedOutput(columns, rows);
    const screen = createScreen(recorded.output, createStyleText({ isTTY: true }, {}));
    for (const item of items) view.show(steady(item), columns, start);
    screen.commit(view.takeHistory());
    const region = renderRegion(
      {
        view,
        draft: edit.write(edit.emptyDraft, draft),
        hints: [],
        answering: initialAnswerState,
        isOnQuestion: false,
        picker: null,
        isLeaving: false,
        waitText: undefined,
        ...shown,
      },
      columns,
      rows,
      start + 3_200,
    );
    expect(region.rows.length).toBeLessThanOrEqual(Math.min(14, rows / 2));
    screen.show(region);
    screen.drawNow();
    expect(recorded.text()).not.toMatch(/\x1b\[[23]J/);
    const seen = await pictureOf(recorded.text(), columns, rows);
    await expect(seen).toMatchFileSnapshot(`golden/${name.replaceAll(" ", "-")}.${columns}x${rows}.txt`);
  });
});

/** Times differ from run to run. */
function steady(item: StreamItem): StreamItem {
  if (item.type === "call_complete") return { ...item, durationMs: 4 };
  return item.type === "attempt_failed" && item.retryInMs !== undefined ? { ...item, retryInMs: 8_000 } : item;
}

const colours = ["k", "r", "g", "y", "l", "m", "c", "w"];

/** The screen as text, and its attributes. */
async function pictureOf(written: string, columns: number, rows: number): Promise<string> {
  const terminal = new headless.Terminal({ allowProposedApi: true, cols: columns, rows });
  await new Promise<void>((done) => terminal.write(written, done));
  const buffer = terminal.buffer.active;
  const text: string[] = [];
  const marks: string[] = [];
  for (let row = 0; row < rows; row += 1) {
    const line = buffer.getLine(buffer.baseY + row);
    let letters = "";
    for (let column = 0; column < columns; column += 1) {
      const cell = line?.getCell(column);
      if (cell === undefined) continue;
      const isCursor = row === buffer.cursorY && column === buffer.cursorX;
      letters += isCursor ? "_" : markOf(cell);
    }
    text.push((line?.translateToString(true) ?? "").trimEnd());
    marks.push(letters.trimEnd());
  }
  terminal.dispose();
  return `${text.join("\n").trimEnd()}\n\n--- attributes ---\n${marks.join("\n").trimEnd()}\n`;
}

type Cell = NonNullable<
  ReturnType<NonNullable<ReturnType<headless.Terminal["buffer"]["active"]["getLine"]>>["getCell"]>
>;

function markOf(cell: Cell): string {
  if (cell.getChars().trim() === "" && !cell.isInverse()) return " ";
  const colour = cell.isFgPalette() ? (colours[cell.getFgColor()] ?? "?") : "";
  const style = cell.isBold() ? "b" : cell.isDim() ? "d" : cell.isItalic() ? "i" : cell.isUnderline() ? "u" : ".";
  const mark = colour === "" ? style : colour;
  return cell.isInverse() ? mark.toUpperCase() : mark;
}
