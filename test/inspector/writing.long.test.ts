/**
 * Answers in several scripts, from right to left and back, and with emoji: each as its readers expect it. Chromium draws with
 * the fonts of the machine; pictures need some for Arabic, Chinese, Japanese, Korean and emoji.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";
import { readFile } from "./desk.js";

const arabic = `## ما وجدته

يُفرَّغ الطابور **مرتين**: مرة في \`drain()\` ومرة في المؤقِّت. انظر [التذكرة رقم 16](https://example.com/issues/16).

1. تأخذ \`drain()\` دفعة واحدة الآن
2. يسأل المؤقِّت أولًا، ثم يعمل (بعد 250 ms)

| الملف | قبل | بعد |
|---|---:|---:|
| src/queue.ts | 120 | 96 |
| src/timer.ts | 44 | 51 |

\`\`\`ts
const batch = queue.takeAll();
\`\`\`

> لم يتغيّر شيء آخر: version 2.1 (בעברית: הכול עובד).`;

const eastern = `## 調べた結果

キューは**二回**空にされていました。\`drain()\` とタイマーの両方が原因です。长句子没有空格，也应该在窄屏幕上正常换行，而不会超出边界或被截断：队列每次只取一个元素，然后等待下一个元素到来。

- 日本語: 「途中で止まっても失われません」
- 简体中文：每一步都会先被记录下来
- 繁體中文：每一步都會先被記錄下來
- 한국어: 각 단계는 먼저 기록됩니다

| 言語 | 結果 |
|---|---|
| 日本語 | 完了 ✅ |
| 한국어 | 완료 ✅ |`;

const pictures = `Done 🎉 — family 👩‍👩‍👧‍👦, flag 🇯🇵, skin tone 👍🏽, keycap 3️⃣, heart ❤️, thread 🧵.

- ✅ tests pass
- 🚧 one is slow 🐢
- नमस्ते, สวัสดี, Zażółć gęślą jaźń, é = é`;

test("shows an answer in Arabic, in Chinese, Japanese and Korean, and with emoji", verifies("UI-2"), async () => {
  const store = createMemoryStore();
  const model = createScriptedModel([
    { text: "سأنظر في الملف.", calls: [{ name: "read_file", input: { path: "الطابور.ts" } }] },
    { text: arabic },
    { text: eastern },
    { text: pictures },
  ]);
  const agent = createAgent({ name: "writer", store, model, tools: [readFile] });
  await agent.run("لماذا يُفرَّغ الطابور مرتين؟ أجب بالعربية من فضلك (src/queue.ts).", { sessionId: "words" });
  await agent.run("同じことを日本語、中文、한국어で説明してください。", { sessionId: "words" });
  await agent.run("And now with emoji 🙂", { sessionId: "words" });
  const rig = await startTestServer({ store, agents: [], ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  await page.goto(`${rig.url}/#/sessions/words`);
  const answer = page.locator("article.final");
  const open = async (run: number, word: string) => {
    await page.goto(`${rig.url}/#/sessions/words`);
    await page.locator(".line.step", { hasText: "answer" }).nth(run).click();
    await answer.getByText(word).first().waitFor();
  };
  /** The direction in which an element of the answer is written. */
  const direction = (selector: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector("article.final ${selector}")).direction`);
  await open(0, "ما وجدته");
  const found = await Promise.all(
    ["p.heading", "p:not(.heading)", "ol", "blockquote", "table", "pre", "code"].map(direction),
  );
  expect(found).toEqual(["rtl", "rtl", "rtl", "rtl", "rtl", "ltr", "ltr"]);
  await expectReadable(page, "arabic");
  await open(1, "調べた結果");
  expect(await direction("p.heading")).toBe("ltr");
  await expectReadable(page, "eastern");
  await open(2, "family");
  expect(await answer.textContent()).toContain("👩‍👩‍👧‍👦, flag 🇯🇵, skin tone 👍🏽, keycap 3️⃣");
  await expectReadable(page, "emoji");
  expect(problems).toEqual([]);
});
