import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, onTestFinished, test } from "vitest";
import { composeMessage, createDataPart, summarizeMessage } from "../../src/cli/agent/attachments.js";
import { listCodeBlocks } from "../../src/cli/conversation/commands/copy.js";
import { findTypedPath, listFileNames, matchNames } from "../../src/cli/conversation/fronts/file-names.js";
import { fromAiSdk } from "../../src/models/index.js";
import { addIgnoreRules, isIgnored } from "../../src/tools/files/ignore-rules.js";
import { verifies } from "../verifies.js";

function folder(files: Readonly<Record<string, string | Buffer>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "pawl-files-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

describe("the names of files for @", verifies("CHAT-1#paths"), () => {
  test("are those that git does not ignore, and links lead nowhere", async () => {
    const ignored =
      "*.log\n!keep.log\n/build/\nnode_modules/\ndocs/**/draft-?.md\nsecret[0-9]\n# no rule\n\\#odd\na/*/c\n";
    const root = folder({
      ".gitignore": ignored,
      "a.log": "",
      "keep.log": "",
      "build/out.js": "",
      "src/build/in.js": "",
      "src/.gitignore": "/own.ts\n",
      "src/own.ts": "",
      "src/sub/own.ts": "",
      "node_modules/x/index.js": "",
      "docs/a/b/draft-1.md": "",
      "docs/draft-10.md": "",
      secret1: "",
      secretx: "",
      "#odd": "",
      "a/b/c": "",
      "a/c": "",
      "a/b/d/c": "",
    });
    symlinkSync("/etc", join(root, "link"));
    const names = await listFileNames(root, new AbortController().signal);
    const git = (args: readonly string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" });
    git(["init", "-q"]);
    const known = git(["ls-files", "--others", "--exclude-standard"]).trim().split("\n");
    expect([...names].sort()).toEqual(
      known.filter((name) => name !== "link" && !name.startsWith("node_modules/")).sort(),
    );
  });

  test("a hostile rule takes no longer than its length allows", () => {
    const rules = addIgnoreRules(null, Buffer.from(`${"*a".repeat(90)}b\n${"**/a/".repeat(35)}b`), "");
    expect(isIgnored(rules, "a".repeat(5_000), false)).toBe(false);
    expect(isIgnored(rules, "a/".repeat(1_000), false)).toBe(false);
  });

  test("are found by any part, those whose name begins with it first", () => {
    const names = ["src/core/parse.ts", "src/unparsed.ts", "parse/a.md", "README.md"];
    expect(matchNames(names, "pars", 9)).toEqual(["src/core/parse.ts", "parse/a.md", "src/unparsed.ts"]);
    expect(findTypedPath("look at @src/pa", 15)).toEqual({ start: 9, words: "src/pa" });
    expect(findTypedPath("me@example.org", 14)).toBeNull();
    expect(findTypedPath("@src/a and", 10)).toBeNull();
  });
});

describe("a message with @path", verifies("CHAT-1#paths"), () => {
  test("brings the file's text as data, and is shown in one line", () => {
    const root = folder({ "src/a.ts": "one\ntwo\n```\n", "a name.txt": "x", "pic.png": Buffer.from([1, 2]) });
    const text = 'Look at @src/a.ts, @"a name.txt" and @pic.png; me@example.org, @nobody, @src/a.ts';
    const { input, problems } = composeMessage(text, { root });
    expect(problems).toEqual([]);
    expect(input).toEqual([
      { type: "text", text },
      { type: "text", text: "The file src/a.ts, as it is now:\n````\none\ntwo\n```\n\n````" },
      { type: "text", text: "The file a name.txt, as it is now:\n```\nx\n```" },
      { type: "file", mediaType: "image/png", data: "AQI=", filename: "pic.png" },
    ]);
    expect(summarizeMessage({ role: "user", parts: input })).toEqual({
      text,
      joined: ["The file src/a.ts, as it is now · 4 lines", "The file a name.txt, as it is now · 1 line", "pic.png"],
    });
  });

  test("brings no picture that the model's provider is known to refuse, and says why", () => {
    const side = Buffer.from([0, 0, 0x23, 0x28]);
    const huge = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), side, side]);
    const root = folder({ "huge.png": huge, "a.txt": "x" });
    const { whyRefused } = fromAiSdk(createAnthropic({ apiKey: "k" })("claude-sonnet-5-5"));
    const { input, problems } = composeMessage("@huge.png @a.txt", { root, whyRefused });
    expect(input).toHaveLength(2);
    expect(problems).toEqual([
      "@huge.png was not attached: it has 9000 × 9000 pixels, and Anthropic accepts at most 8000 × 8000.",
    ]);
  });

  test("brings nothing from outside, nothing that is too large, and says so", () => {
    const root = folder({
      "big.txt": "x".repeat(1_000_001),
      "data.bin": Buffer.from([0, 255]),
      "half.txt": "y".repeat(400_000),
    });
    const outside = folder({ "secret.txt": "s" });
    symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"));
    writeFileSync(join(root, "other.txt"), "z".repeat(400_000));
    const { input, problems } = composeMessage(
      `@link.txt @../nothing-there @/etc/passwd @big.txt @data.bin @. @half.txt @other.txt`,
      { root },
    );
    expect(input).toHaveLength(2);
    expect(problems).toEqual([
      "@link.txt was not attached: it is not in the folder.",
      "@../nothing-there was not attached: there is no such file in the folder.",
      "@/etc/passwd was not attached: it is not in the folder.",
      "@big.txt was not attached: it is larger than 1,000,000 bytes.",
      "@data.bin was not attached: it is not text.",
      "@other.txt was not attached: the message would be too long.",
    ]);
  });

  test("a part cannot look like the end of another", () => {
    const part = createDataPart("The user ran:\n```", "a\n``````\nb");
    expect(part).toEqual({ type: "text", text: "The user ran: ```\n```````\na\n``````\nb\n```````" });
  });
});

test("code blocks of an answer are copied as they were written", verifies("CHAT-3#look"), () => {
  const text = "Text\n\n```ts\nconst a = 1;\n\n  b();\n```\n\n- item\n\n  ~~~\n  in a list\n  ~~~\n\n```\nopen";
  expect(listCodeBlocks(text)).toEqual(["const a = 1;\n\n  b();", "in a list", "open"]);
});
