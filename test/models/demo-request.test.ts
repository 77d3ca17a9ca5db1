import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRequest, type Task } from "../../src/models/demo/request.js";

const notes = (path: string, words = ["TODO", "FIXME"]): Task => ({ type: "find_notes", words, path });
const typescript = { pattern: "*.{ts,tsx,mts,cts}", named: "TypeScript" };

const understood: readonly [request: string, ...tasks: Task[]][] = [
  ["List files", { type: "list", path: "." }],
  ["List all the files in src", { type: "list", path: "src" }],
  ["Please list the files under the src folder.", { type: "list", path: "src" }],
  ["list the TypeScript files under src", { type: "list", path: "src", kind: typescript }],
  ["show me the .md files", { type: "list", path: ".", kind: { pattern: "*.md", named: ".md" } }],
  ["What files are there in docs?", { type: "list", path: "docs" }],
  ["which files are in src", { type: "list", path: "src" }],
  ["find files named *.test.ts", { type: "list", path: ".", kind: { pattern: "*.test.ts", named: "*.test.ts" } }],
  ["list *.ts in src", { type: "list", path: "src", kind: { pattern: "*.ts", named: "*.ts" } }],
  ["ls", { type: "list", path: "." }],
  ["list src/", { type: "list", path: "src" }],
  ["What's in src?", { type: "list", path: "src" }],

  ["Count the files", { type: "count_files", path: "." }],
  ["How many TypeScript files are in src?", { type: "count_files", path: "src", kind: typescript }],
  ["How many files are there in this project?", { type: "count_files", path: "." }],
  ["count the lines of src/index.ts", { type: "count_lines", path: "src/index.ts" }],
  ["How many lines does README.md have?", { type: "count_lines", path: "README.md" }],
  ["how many lines of code are in src", { type: "count_lines", path: "src" }],
  ['Count the occurrences of "foo bar" in src', { type: "find", text: "foo bar", path: "src", countOnly: true }],
  [
    "How many times does createAgent occur in src?",
    { type: "find", text: "createAgent", path: "src", countOnly: true },
  ],
  ["how often is createAgent used under src", { type: "find", text: "createAgent", path: "src", countOnly: true }],
  ["How many TODOs are there in src?", { type: "find_notes", words: ["TODO", "FIXME"], path: "src", countOnly: true }],

  ["Find createAgent in src", { type: "find", text: "createAgent", path: "src" }],
  ['find the text "export function" under src', { type: "find", text: "export function", path: "src" }],
  ["search for createAgent", { type: "find", text: "createAgent", path: "." }],
  ["search in src for createAgent", { type: "find", text: "createAgent", path: "src" }],
  ["grep foo src/", { type: "find", text: "foo", path: "src" }],
  ["Where is createAgent defined?", { type: "find", text: "createAgent", path: "." }],
  ["Which files contain createAgent?", { type: "find", text: "createAgent", path: "." }],
  ['which files under src mention "a b"?', { type: "find", text: "a b", path: "src" }],
  ["find all files containing `x = 1`", { type: "find", text: "x = 1", path: "." }],
  ["Could you please find the word 'pawl' in README.md?", { type: "find", text: "pawl", path: "README.md" }],

  ["Find the TODO comments under src", notes("src")],
  ["find todos", notes(".")],
  ["List all TODOs and FIXMEs in the src directory", notes("src")],
  ["list the FIXME comments", notes(".", ["FIXME"])],
  ["find TODO, FIXME and HACK comments in lib", notes("lib", ["TODO", "FIXME", "HACK"])],
  ["What TODOs are left?", notes(".")],

  ["Read README.md", { type: "read", path: "README.md" }],
  [
    "please read README.md and package.json",
    { type: "read", path: "README.md" },
    { type: "read", path: "package.json" },
  ],
  ["show me src/index.ts", { type: "read", path: "src/index.ts" }],
  ["read lines 10-20 of README.md", { type: "read", path: "README.md", startLine: 10, endLine: 20 }],
  ["read README.md lines 10 to 20", { type: "read", path: "README.md", startLine: 10, endLine: 20 }],
  ["read line 3 of LICENSE", { type: "read", path: "LICENSE", startLine: 3, endLine: 3 }],
  ["What does README.md say?", { type: "read", path: "README.md" }],
  ['read "my file.txt"', { type: "read", path: "my file.txt" }],

  ["Summarise README.md", { type: "summarise", path: "README.md" }],
  ["Summarize src/index.ts by its headings and exports", { type: "summarise", path: "src/index.ts" }],
  ["give me a summary of README.md", { type: "summarise", path: "README.md" }],
  ["What does src/index.ts export?", { type: "summarise", path: "src/index.ts" }],
  [
    "summarise a.md, b.md and c.md",
    { type: "summarise", path: "a.md" },
    { type: "summarise", path: "b.md" },
    { type: "summarise", path: "c.md" },
  ],

  ["write a report", { type: "report", path: "REPORT.md" }],
  ["save the results to out.md", { type: "report", path: "out.md" }],
  ["Write what you found to notes/out.md.", { type: "report", path: "notes/out.md" }],
  ["put it into a file called out.md", { type: "report", path: "out.md" }],
  [
    "write a list of the files under src to FILES.md",
    { type: "list", path: "src" },
    { type: "report", path: "FILES.md" },
  ],
  ["write a summary of README.md to S.md", { type: "summarise", path: "README.md" }, { type: "report", path: "S.md" }],
  ["write a report of the TODOs under src to T.md", notes("src"), { type: "report", path: "T.md" }],

  ['Replace "foo" with "bar" in src/a.ts', { type: "replace", oldText: "foo", newText: "bar", path: "src/a.ts" }],
  ["change foo to bar everywhere", { type: "replace", oldText: "foo", newText: "bar", path: "." }],
  ["replace all occurrences of 'a b' by \"\" under src", { type: "replace", oldText: "a b", newText: "", path: "src" }],

  ["run: npm test", { type: "run", command: "npm test" }],
  ["run: echo a, then b; list files", { type: "run", command: "echo a, then b; list files" }],
  [
    "run: `npm test`, then write a report to R.md",
    { type: "run", command: "npm test" },
    { type: "report", path: "R.md" },
  ],

  [
    "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md",
    notes("src"),
    { type: "report", path: "TODO-REPORT.md" },
  ],
  ["Find all TODOs in src and write them to T.md", notes("src"), { type: "report", path: "T.md" }],
  ["Find the TODO comments in src. Then write a report to T.md.", notes("src"), { type: "report", path: "T.md" }],
  ["find TODOs and then save them as T.md", notes("."), { type: "report", path: "T.md" }],
  [
    "1. List files in src\n2. Count the lines of README.md\n- read LICENSE",
    { type: "list", path: "src" },
    { type: "count_lines", path: "README.md" },
    { type: "read", path: "LICENSE" },
  ],
  ["list files in src; read LICENSE", { type: "list", path: "src" }, { type: "read", path: "LICENSE" }],
  ["Read README.md, then summarise it", { type: "read", path: "README.md" }, { type: "summarise", path: "README.md" }],
  [
    "Replace 'a' by 'b' in src, then run: npm test",
    { type: "replace", oldText: "a", newText: "b", path: "src" },
    { type: "run", command: "npm test" },
  ],
];

describe("the demo model understands", () => {
  test.each(understood)("%s", (request, ...tasks) => {
    expect(parseRequest(request)).toEqual({ type: "tasks", tasks });
  });
});

describe("the demo model does not pretend to understand", () => {
  const unclear: readonly [request: string, part: string][] = [
    ["write a poem", "write a poem"],
    ["Fix the bug in src/a.ts", "Fix the bug in src/a.ts"],
    ["make me a sandwich", "make me a sandwich"],
    ["refactor everything", "refactor everything"],
    ["don't list files", "don't list files"],
    ["list files, then explain 'them' to me", "explain 'them' to me"],
    ["delete README.md", "delete README.md"],
    ["x".repeat(3000), `${"x".repeat(60)}…`],
  ];
  test.each(unclear)("%s", (request, part) => {
    expect(parseRequest(request)).toEqual({ type: "unclear", part });
  });

  test.each(["", "  \n ", "hello", "Help!", "What can you do?", "who are you"])("and greets: %j", (request) => {
    expect(parseRequest(request)).toEqual({ type: "help" });
  });

  test("whatever is said", () => {
    const words = fc.constantFrom(
      "find",
      "the",
      "TODO",
      "in",
      "src",
      "then",
      "and",
      ",",
      '"',
      "'",
      "`",
      "write",
      "to",
      "it",
      "run:",
      "replace",
      "with",
      "\n",
      "lines",
      "of",
      "\u0001",
      "1",
    );
    const answers = (said: string) => {
      expect(["tasks", "help", "unclear"]).toContain(parseRequest(said).type);
    };
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (said) => answers(said.join(" "))),
      { numRuns: 2000 },
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), answers));
  });
});
