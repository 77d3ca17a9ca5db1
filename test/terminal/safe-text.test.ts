/**
 * What could rewrite a screen, hide text or pass for something else does nothing in the places that show names of files, code in
 * colors, what joined a message, and lists to choose from. The view's own places are in view.test.ts.
 */
import { describe, expect, test } from "vitest";
import { composeMessage, createDataPart } from "../../src/cli/agent/attachments.js";
import { createCompletion } from "../../src/cli/conversation/fronts/completion.js";
import { diffInFile } from "../../src/cli/conversation/lines/change-lines.js";
import { loadHighlighting } from "../../src/cli/conversation/lines/highlight.js";
import { createMarkdownLines } from "../../src/cli/conversation/lines/markdown-lines.js";
import { createView } from "../../src/cli/conversation/view/view.js";
import * as edit from "../../src/cli/screen/draft.js";
import { type Line, paint } from "../../src/cli/screen/line.js";
import { createPicker, renderPicker } from "../../src/cli/screen/picker.js";
import { createClipboardSequence } from "../../src/cli/terminal/pager.js";
import type { StreamItem } from "../../src/index.js";
import { verifies } from "../verifies.js";
import { escapes } from "./escapes.js";

await loadHighlighting();

const corpus = [...escapes, '<span class="hljs-keyword">\x1b[31m</span>'];

const painted = (lines: readonly Line[]) => lines.map((line) => paint(line, (_, text) => text)).join("");
const harmless = (text: string) => expect(text).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u);

describe.each(corpus)("%j does nothing", verifies("SEC-18#terminal"), (hostile) => {
  test("in names of files that complete a draft, and in lists", async () => {
    const names = [`a${hostile}1`, `a${hostile}2`];
    let isThere = () => {};
    const arrived = new Promise<void>((done) => {
      isThere = done;
    });
    const none = async () => [];
    const talk = { custom: [], fileNames: async () => names, resourceNames: none, prompts: none, argumentValues: none };
    const completion = createCompletion(() => talk, isThere);
    const draft = edit.insert(edit.emptyDraft, "@a");
    completion.hints(draft, 40);
    await arrived;
    harmless(painted(completion.hints(draft, 40)));
    const found = completion.complete(draft);
    const next = found?.type === "draft" ? found.draft : found?.draft(names[0] ?? "");
    harmless((next ?? draft).text);
    if (found?.type === "choose") harmless(painted(renderPicker(createPicker("@", found.choices), 40, 9).rows));
  });

  test.each(["ts", "html", "sh", "markdown", hostile])("in code of %j", (language) => {
    const markdown = createMarkdownLines();
    for (const unit of `\`\`\`${language}\n/* ${hostile}\n${hostile} */ const a = "${hostile}";\n\`\`\`\n`) {
      harmless(painted(markdown.add(unit, 40)));
      harmless(painted(markdown.open(40)));
    }
    harmless(painted(markdown.end(40)));
  });

  test("in a change of a file", () => {
    const file = `above ${hostile}\nold ${hostile} text\nbelow ${hostile}\n`;
    harmless(painted(diffInFile(file, { before: "old", after: hostile, all: false })?.lines ?? []));
  });

  test("in what joins a message, and in the clipboard", () => {
    const { input, problems } = composeMessage(`${hostile} @${hostile}`, {
      root: "/nowhere",
      before: [createDataPart(hostile, hostile)],
    });
    const view = createView();
    const started = {
      type: "run_started",
      runId: "r",
      input: [{ role: "user", parts: input }],
      seq: 2,
      index: 1,
      at: 1,
    };
    view.show(started as unknown as StreamItem, 40, 1);
    harmless(painted([...view.takeHistory(), ...problems.map((text): Line => [{ text }])]));
    expect(createClipboardSequence(hostile)).toMatch(/^\x1b\]52;c;[A-Za-z0-9+/=]*\x07$/);
  });
});
