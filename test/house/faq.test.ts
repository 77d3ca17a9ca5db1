/** docs/faq.md: each question has a short answer that leads on. The links themselves are checked by `npm run docs`. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const answers = readFileSync("docs/faq.md", "utf8")
  .split(/^### /m)
  .slice(1)
  .map((text) => text.split(/^## /m)[0] ?? "");

test("has the questions that people ask, each one once", () => {
  const questions = answers.map((answer) => answer.split("\n")[0]);
  expect(questions.length).toBeGreaterThanOrEqual(25);
  expect(new Set(questions).size).toBe(questions.length);
  for (const question of questions) expect(question).toMatch(/\?/);
});

test.each(answers.map((answer) => [answer.split("\n")[0] ?? "", answer] as const))("%s", (question, answer) => {
  const text = answer.slice(question.length);
  expect(text).toMatch(/\]\((?!https?:)[^)]+\)/);
  const sentences = text.replaceAll(/`[^`]*`|\]\([^)]*\)/g, "x").match(/[.:?!](\s|$)/g) ?? [];
  expect(sentences.length).toBeGreaterThanOrEqual(2);
  expect(text.trim().length).toBeLessThan(750);
});
